// SPDX-License-Identifier: BSD-3-Clause
// Gradient descent whose rates follow from the squares of all gradients so far.
// Keras counterpart: Adagrad and Adadelta of tf.keras.optimizers.legacy (the optimizers of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// Gradient descent divided by the root of the sum of all squared gradients. Keras counterpart:
/// tf.keras.optimizers.legacy.Adagrad (Keras 2.6).
/// a = a + g^2, w -= learning_rate g / (sqrt(a) + epsilon).
struct adagrad {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The initial value of a.
  float initial_accumulator_value = 0.1F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = adagrad;
  static constexpr std::string_view name = "adagrad";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const sum = ops.slot("accumulator");  // its initial value excluded
    auto const sum_now = sum + square(gradient);
    ops.update(sum, sum_now);
    auto const root = sqrt(sum_now + initial_accumulator_value);
    ops.update(weight, weight - decayed_rate(ops, decay) * (gradient / (root + epsilon)));
  }

  friend constexpr bool operator==(adagrad const&, adagrad const&) = default;
};

/// Gradient descent by steps as long as the last ones were. Keras counterpart: tf.keras.optimizers.legacy.Adadelta
/// (Keras 2.6).
/// a = rho a + (1 - rho) g^2, u = g sqrt(d + epsilon) / sqrt(a + epsilon), d = rho d + (1 - rho) u^2,
/// w -= learning_rate u.
struct adadelta {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean squared gradient a, and of the mean squared movement d, that an update keeps.
  float rho = 0.95F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = adadelta;
  static constexpr std::string_view name = "adadelta";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const mean_square = ops.slot("accum_grad"), mean_movement = ops.slot("accum_var");
    auto const square_now = mean_square * rho + square(gradient) * (1 - rho);
    auto const movement = gradient * sqrt((mean_movement + epsilon) / (square_now + epsilon));
    ops.update(mean_square, square_now);
    ops.update(mean_movement, mean_movement * rho + square(movement) * (1 - rho));
    ops.update(weight, weight - decayed_rate(ops, decay) * movement);
  }

  friend constexpr bool operator==(adadelta const&, adadelta const&) = default;
};

}  // namespace stagecraft::optimizers
