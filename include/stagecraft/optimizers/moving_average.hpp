// SPDX-License-Identifier: BSD-3-Clause
// An optimizer that keeps moving averages of the weights.
// Keras counterpart: use_ema of the optimizers since Keras 2.11; tfa.optimizers.MovingAverage.
#pragma once

#include <stagecraft/optimizers/optimizer.hpp>
#include <string_view>

namespace stagecraft::optimizers {

namespace detail {

/// The argument of the averaged optimizer's `update`: it takes the weight's new value, which is averaged.
template <class Ops>
struct averaging {
  Ops* ops;                        ///< the argument of moving_average's `update`
  operations::tensor weight, now;  ///< the weight before and after the update

  constexpr auto slot(std::string_view name) { return ops->slot(name); }
  constexpr auto learning_rate() { return ops->learning_rate(); }
  constexpr auto step() { return ops->step(); }
  constexpr auto norm(operations::tensor x) { return ops->norm(x); }
  constexpr auto global_norm(operations::tensor x) { return ops->global_norm(x); }
  constexpr auto loss_scale() { return ops->loss_scale(); }
  constexpr void expect_finite(operations::tensor x) { ops->expect_finite(x); }
  constexpr void update(operations::tensor variable, operations::tensor value) {
    if (variable.id == weight.id)
      now = value;
    else
      ops->update(variable, value);
  }
};

}  // namespace detail

/// `moving_average{adam{}, 0.99F, 100}`: after each update of a weight w, a = ema_momentum a + (1 - ema_momentum) w,
/// which begins with the initial weight; after every `ema_overwrite_frequency` updates w becomes a.
template <class Optimizer>
struct moving_average {
  /// The optimizer that updates the weights.
  Optimizer optimizer = {};
  /// The share of the average that an update keeps.
  float ema_momentum = 0.99F;
  /// Number of updates after which the weights become their averages, each time; 0: never.
  int ema_overwrite_frequency = 0;
  /// The wrapped optimizer's learning rate, which callbacks change; programs do not set it.
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  using listed_options = moving_average;
  static constexpr std::string_view name = "moving_average";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    detail::averaging averaged{&ops, weight, weight};
    optimizer.update(averaged, weight, stagecraft::detail::prepared_gradient(optimizer, averaged, gradient));
    auto const average = ops.slot("average");
    auto const t = ops.step();
    auto const next = where(equal(t, 1.0F), weight, average) * ema_momentum + averaged.now * (1 - ema_momentum);
    ops.update(average, next);
    if (ema_overwrite_frequency == 0) return ops.update(weight, averaged.now);
    auto const often = static_cast<float>(ema_overwrite_frequency);
    ops.update(weight, where(equal(floor(t / often) * often, t), next, averaged.now));
  }

  friend constexpr bool operator==(moving_average const&, moving_average const&) = default;
};

}  // namespace stagecraft::optimizers
