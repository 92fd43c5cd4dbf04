// SPDX-License-Identifier: BSD-3-Clause
// Optimizers and schedules of learning rates under their names in optimizers.txt: what tests walk.
#pragma once

#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/optimizers/schedules/schedules.hpp>

namespace laws {

/// Calls check<optimizer>(name) for each of them.
void with_optimizers(auto const& check) {
  using namespace stagecraft::optimizers;
  check.template operator()<adagrad{.learning_rate = 0.05F}>("adagrad");
  check.template operator()<adagrad{.learning_rate = 0.05F, .initial_accumulator_value = 0.5F, .epsilon = 0.01F}>(
      "adagrad_options");
  check.template operator()<adadelta{.learning_rate = 0.5F}>("adadelta");
  check.template operator()<adadelta{.learning_rate = 1, .rho = 0.8F, .epsilon = 0.01F}>("adadelta_options");
  check.template operator()<adamax{}>("adamax");
  check.template operator()<adamax{.learning_rate = 0.05F, .beta_1 = 0.8F, .beta_2 = 0.9F, .epsilon = 0.01F}>(
      "adamax_options");
  check.template operator()<nadam{}>("nadam");
  check.template
  operator()<nadam{.learning_rate = 0.05F, .beta_1 = 0.8F, .beta_2 = 0.95F, .epsilon = 0.01F, .schedule_decay = 0.5F}>(
      "nadam_options");
  check.template operator()<ftrl{.learning_rate = 0.1F}>("ftrl");
  check.template operator()<ftrl{.learning_rate = 0.1F,
                                 .learning_rate_power = -0.75F,
                                 .initial_accumulator_value = 0.5F,
                                 .l1_regularization_strength = 0.1F,
                                 .l2_regularization_strength = 0.2F,
                                 .l2_shrinkage_regularization_strength = 0.05F,
                                 .beta = 0.3F}>("ftrl_options");
  check.template operator()<sgdw{.weight_decay = 0.05F, .learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true}>(
      "sgdw");
  check.template operator()<adamw{
      .weight_decay = 0.05F, .learning_rate = 0.05F, .beta_1 = 0.8F, .epsilon = 0.01F, .amsgrad = true}>("adamw");
  check.template operator()<adam{.learning_rate = 0.05F, .clipvalue = 0.25F}>("adam_clipvalue");
  check.template operator()<sgd{.learning_rate = 0.1F, .momentum = 0.5F, .clipnorm = 0.75F}>("sgd_clipnorm");
  check.template operator()<rmsprop{.learning_rate = 0.05F, .epsilon = 0.01F, .clipvalue = 2, .global_clipnorm = 1.5F}>(
      "rmsprop_global_clipnorm");
  check.template operator()<lamb{.learning_rate = 0.05F}>("lamb");
  check.template operator()<lamb{.learning_rate = 0.05F,
                                 .beta_1 = 0.8F,
                                 .beta_2 = 0.95F,
                                 .epsilon = 0.01F,
                                 .weight_decay = 0.1F,
                                 .decay = 0.25F,
                                 .clipnorm = 2}>("lamb_options");
  check.template operator()<lamb{.learning_rate = 0.05F, .weight_decay = 0.1F, .layer_adaptation = false}>(
      "lamb_without_adaptation");
  check.template operator()<lars{.learning_rate = 2}>("lars");
  check.template operator()<lars{.learning_rate = 0.5F,
                                 .momentum = 0.5F,
                                 .weight_decay_rate = 0.1F,
                                 .eeta = 0.02F,
                                 .nesterov = true,
                                 .decay = 0.25F}>("lars_nesterov");
  check.template operator()<lars{.learning_rate = 0.5F,
                                 .momentum = 0.5F,
                                 .weight_decay_rate = 0.1F,
                                 .eeta = 0.02F,
                                 .nesterov = true,
                                 .classic_momentum = false}>("lars_popular_momentum");
  check.template operator()<moving_average{sgd{.learning_rate = 0.1F, .momentum = 0.9F}, 0.75F, 3}>("moving_average");
  check.template
  operator()<sgd{.learning_rate =
                     schedules::exponential_decay{.initial_learning_rate = 0.5F, .decay_steps = 10, .decay_rate = 0.8F},
                 .momentum = 0.5F,
                 .decay = 0.25F}>("sgd_schedule_decay");
}

/// Calls check<rate>(name) for each schedule.
void with_schedules(auto const& check) {
  using namespace stagecraft::optimizers::schedules;
  using rate = stagecraft::learning_rate;
  constexpr exponential_decay exponential{.initial_learning_rate = 0.5F, .decay_steps = 10, .decay_rate = 0.8F};
  check.template operator()<rate(exponential)>("exponential_decay");
  check.template operator()<rate(
      exponential_decay{.initial_learning_rate = 0.5F, .decay_steps = 7, .decay_rate = 0.8F, .staircase = true})>(
      "exponential_decay_staircase");
  check.template operator()<rate(linear_warmup{.learning_rate = exponential, .warmup_steps = 5})>("linear_warmup");
  check.template
  operator()<rate(inverse_time_decay{.initial_learning_rate = 0.5F, .decay_steps = 10, .decay_rate = 0.8F})>(
      "inverse_time_decay");
  check.template operator()<rate(
      inverse_time_decay{.initial_learning_rate = 0.5F, .decay_steps = 7, .decay_rate = 0.8F, .staircase = true})>(
      "inverse_time_decay_staircase");
  constexpr polynomial_decay line{.initial_learning_rate = 0.5F, .decay_steps = 30, .end_learning_rate = 0.1F};
  check.template operator()<rate(line)>("polynomial_decay");
  check.template operator()<rate(
      polynomial_decay{.initial_learning_rate = 0.5F, .decay_steps = 30, .end_learning_rate = 0.1F, .power = 2.5F})>(
      "polynomial_decay_power");
  check.template operator()<rate(polynomial_decay{
      .initial_learning_rate = 0.5F, .decay_steps = 12, .end_learning_rate = 0.1F, .power = 0.5F, .cycle = true})>(
      "polynomial_decay_cycle");
  check.template operator()<rate(cosine_decay{.initial_learning_rate = 0.5F, .decay_steps = 30})>("cosine_decay");
  check.template operator()<rate(cosine_decay{.initial_learning_rate = 0.5F, .decay_steps = 30, .alpha = 0.25F})>(
      "cosine_decay_alpha");
  check.template operator()<rate(cosine_decay_restarts{.initial_learning_rate = 0.5F, .first_decay_steps = 5})>(
      "cosine_decay_restarts");
  check.template operator()<rate(cosine_decay_restarts{
      .initial_learning_rate = 0.5F, .first_decay_steps = 6, .t_mul = 1.5F, .m_mul = 0.75F, .alpha = 0.1F})>(
      "cosine_decay_restarts_options");
  check.template operator()<rate(
      cosine_decay_restarts{.initial_learning_rate = 0.5F, .first_decay_steps = 8, .t_mul = 1, .m_mul = 0.5F})>(
      "cosine_decay_restarts_equal");
  check.template
  operator()<rate(piecewise_constant_decay{.boundaries = {3, 10, 25}, .values = {0.5F, 0.3F, 0.2F, 0.05F}})>(
      "piecewise_constant_decay");
}

}  // namespace laws
