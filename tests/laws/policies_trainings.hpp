// SPDX-License-Identifier: BSD-3-Clause
// Models and training descriptions that have all losses, optimizers and ways to accumulate gradients.
#pragma once

#include "../losses/output_for_each_loss.hpp"
#include "own_training.hpp"
#include "policies_models.hpp"

namespace laws {

using classes = sc::sequential<input{6}, dense{8, sc::tanh}, dense{5}>;
using probabilities = sc::sequential<input{6}, dense{8, sc::tanh}, dense{5, sc::softmax}>;
using one_probability = sc::sequential<input{6}, dense{8, sc::tanh}, dense{1, sc::sigmoid}>;
using probabilities_of_layer = sc::sequential<input{6}, dense{8, sc::tanh}, dense{5}, softmax_layer{}>;

template <auto Loss, auto Optimizer = sc::optimizers::sgd{.learning_rate = 0.02F}>
inline constexpr auto with = sc::training{.optimizer = Optimizer, .loss = Loss, .batch_size = 4};
/// Two inputs, and outputs with losses and weights of their own.
struct two_outputs : sc::functional<two_outputs> {
  static constexpr auto build(auto& model) {
    auto one = model.input(3), two = model.input(2);
    auto joined = concatenate()(dense(4, sc::tanh)(one), dense(3, sc::sigmoid)(two));
    auto a = dense(5)(joined);
    return sc::outputs(a, dense(2)(concatenate()(a, joined)));
  }
};
inline constexpr auto of_two =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::per_output(sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                                sc::losses::huber{.delta = 0.5F}),
                 .loss_weights = {0.25, 2},
                 .batch_size = 4};

template <sc::gradient_accumulation_options Options, int Replicas = 0, auto Optimizer = sc::optimizers::adam{}>
inline constexpr auto accumulating = sc::training{.optimizer = Optimizer,
                                                  .loss = sc::losses::mean_squared_error{},
                                                  .batch_size = 4,
                                                  .gradient_accumulation = Options,
                                                  .num_replicas = Replicas};

/// Calls check<model, training>() for all losses, with and without logits, and all optimizers: each in one training at
/// least, since they do not meet.
void with_all_losses_and_optimizers(auto const& check) {
  using namespace sc::losses;
  using namespace sc::optimizers;
  check.template operator()<classes, with<sparse_categorical_crossentropy{.from_logits = true}, adam{}>>();
  check.template operator()<classes, with<categorical_crossentropy{.from_logits = true, .label_smoothing = 0.1F},
                                          adam{.amsgrad = true, .decay = 0.5F, .global_clipnorm = 0.1F}>>();
  check.template
  operator()<probabilities, with<sparse_categorical_crossentropy{}, sgd{.momentum = 0.9F, .decay = 0.5F}>>();
  check.template
  operator()<probabilities_of_layer,
             with<categorical_crossentropy{}, lars{.weight_decay_rate = 0.1F, .eeta = 0.5F, .nesterov = true}>>();
  check.template operator()<one_probability, with<binary_crossentropy{}, rmsprop{}>>();
  check.template
  operator()<classes, with<binary_crossentropy{.from_logits = true, .label_smoothing = 0.2F},
                           rmsprop{.momentum = 0.5F, .centered = true, .decay = 0.5F, .clipnorm = 0.1F}>>();
  check.template operator()<
      classes, with<mean_absolute_error{},
                    als_optimizer{sgdw{.weight_decay = 0.25F,
                                       .learning_rate =
                                           schedules::inverse_time_decay{
                                               .initial_learning_rate = 0.02F, .decay_steps = 2, .decay_rate = 0.5F},
                                       .momentum = 0.5F,
                                       .clipvalue = 0.05F,
                                       .exclude_from_weight_decay = {"dense/kernel", "bias"}},
                                  0x1p20F, 2, 2, 0x1p22F}>>();
  check.template
  operator()<classes, with<huber{.delta = 0.5F},
                           loss_scale_optimizer{moving_average{sgd{.learning_rate = 0.02F}, 0.5F, 2}, true, 64, 3}>>();
  check.template operator()<classes, with<quantile_and_distance{0.75F}, bounded{}>>();
  check.template operator()<two_outputs, of_two>();
  check.template operator()<output_for_each_loss, loss_for_each_output>();
}

/// Calls check<model, training>() for ways to accumulate gradients, replicas, offloaded and sharded state.
void with_all_accumulations(auto const& check) {
  using enum sc::gradient_accumulation_reduction_method;
  check.template operator()<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3}>>();
  check.template operator()<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 3,
                                                         .reduction_method = running_mean,
                                                         .gradient_accumulation_dtype = sc::dtype::float16,
                                                         .offload_weight_update_variables = sc::offload::remote},
                                                        0, sc::optimizers::adam{.global_clipnorm = 0.25F}>>();
  check.template operator()<network_model, accumulating<{.gradient_accumulation_steps_per_replica = 2,
                                                         .reduction_method = mean,
                                                         .replicated_optimizer_state_sharding = true},
                                                        2, sc::optimizers::lamb{.global_clipnorm = 0.25F}>>();
}

}  // namespace laws
