// SPDX-License-Identifier: BSD-3-Clause
// Follow the regularized leader, which makes many weights exactly 0.
// Keras counterpart: tf.keras.optimizers.legacy.Ftrl (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// a' = a + g^2, z = z + g + 2 l2_shrinkage w - (a'^-p - a^-p) / learning_rate w with p = learning_rate_power,
/// q = a'^-p / learning_rate + 2 l2 + beta / learning_rate; w = (sign(z) l1 - z) / q where |z| > l1, else 0.
struct ftrl {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The exponent by which the learning rate falls with the sum of squared gradients a: at most 0, which keeps it.
  float learning_rate_power = -0.5F;
  /// The initial value of a.
  float initial_accumulator_value = 0.1F;
  /// The penalty of absolute values.
  float l1_regularization_strength = 0;
  /// The penalty of squares.
  float l2_regularization_strength = 0;
  /// A penalty of squares that acts through the gradient alone.
  float l2_shrinkage_regularization_strength = 0;
  /// A number that is added to the inverse of the learning rates.
  float beta = 0;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = ftrl;
  static constexpr std::string_view name = "ftrl";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const sum = ops.slot("accumulator");  // its initial value excluded
    auto const linear = ops.slot("linear");
    auto const rate = decayed_rate(ops, decay);
    auto const powered = [&](auto a) {
      auto const total = a + initial_accumulator_value;
      return learning_rate_power == -0.5F ? sqrt(total) : pow(total, -learning_rate_power);
    };
    auto const sum_now = sum + square(gradient);
    auto const power_now = powered(sum_now);
    auto const shrinking = gradient + weight * (2 * l2_shrinkage_regularization_strength);
    auto const z = linear + shrinking - weight * ((power_now - powered(sum)) / rate);
    ops.update(sum, sum_now);
    ops.update(linear, z);
    auto const q = (power_now + beta) / rate + 2 * l2_regularization_strength;
    auto const l1 = l1_regularization_strength;
    ops.update(weight, where(abs(z) > l1, (sign(z) * l1 - z) / q, 0.0F));
  }

  friend constexpr bool operator==(ftrl const&, ftrl const&) = default;
};

}  // namespace stagecraft::optimizers
