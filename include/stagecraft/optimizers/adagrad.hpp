// SPDX-License-Identifier: BSD-3-Clause
// Gradient descent divided by the root of the sum of all squared gradients.
// Keras counterpart: tf.keras.optimizers.legacy.Adagrad (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/decay.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// a = a + g^2, w -= learning_rate g / (sqrt(a) + epsilon).
struct adagrad {
  /// How far weights move against their gradients in an update: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// What a begins with.
  float initial_accumulator_value = 0.1F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// Lets the learning rate fall: by 1 / (1 + decay n) after n weight updates. What `learning_rate()` of the trainer
  /// says, and callbacks change, is the rate before that.
  float decay = 0;
  /// The gradient of a weight is scaled down where its Euclidean norm is larger than this; 0: not at all.
  float clipnorm = 0;
  /// Gradients are limited to [-clipvalue, clipvalue]; 0: not at all.
  float clipvalue = 0;
  /// The gradients of all weights are scaled down where the norm of all of them together is larger than this; 0: not at
  /// all. Not with `clipnorm` (E4089).
  float global_clipnorm = 0;

  static constexpr std::string_view name = "adagrad";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const sum = ops.slot("accumulator");  // without its initial value
    auto const sum_now = sum + square(gradient);
    ops.update(sum, sum_now);
    auto const root = sqrt(sum_now + initial_accumulator_value);
    ops.update(weight, weight - decayed_rate(ops, decay) * (gradient / (root + epsilon)));
  }

  friend constexpr bool operator==(adagrad const&, adagrad const&) = default;
};

}  // namespace stagecraft::optimizers
