// SPDX-License-Identifier: BSD-3-Clause
// Gradient descent divided by a moving root mean square of the gradient.
// Keras counterpart: tf.keras.optimizers.legacy.RMSprop (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// v = rho v + (1 - rho) g^2; centered: a = rho a + (1 - rho) g and d = v - a^2, else d = v.
/// If momentum is 0: w -= learning_rate g / (sqrt(d) + epsilon). /// Otherwise: m = momentum m + learning_rate g /
/// sqrt(d + epsilon), w -= m. (Keras 2.6 places epsilon differently in the two cases; so does this library.)
struct rmsprop {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean squared gradient that an update keeps.
  float rho = 0.9F;
  /// The share of its last movement that a weight keeps; 0: none.
  float momentum = 0;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// True if gradients are divided by an estimate of their standard deviation, in place of their root mean square.
  bool centered = false;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = rmsprop;
  static constexpr std::string_view name = "rmsprop";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const rate = decayed_rate(ops, decay);
    auto const mean_square = ops.slot("rms");
    auto square_now = mean_square * rho + square(gradient) * (1 - rho);
    ops.update(mean_square, square_now);
    // The slot is made here for Keras's order: rms, momentum, mg.
    auto const movement = momentum != 0 ? ops.slot("momentum") : weight;
    if (centered) {
      auto const mean = ops.slot("mg");
      auto const mean_now = mean * rho + gradient * (1 - rho);
      ops.update(mean, mean_now);
      // The variance; rounding may leave it a little below 0, where Keras would go on with NaN.
      square_now = maximum(square_now - mean_now * mean_now, 0.0F);
    }
    if (momentum == 0) {
      ops.update(weight, weight - rate * (gradient / (sqrt(square_now) + epsilon)));
      return;
    }
    auto const next = movement * momentum + rate * (gradient * rsqrt(square_now + epsilon));
    ops.update(movement, next);
    ops.update(weight, weight - next);
  }

  friend constexpr bool operator==(rmsprop const&, rmsprop const&) = default;
};

}  // namespace stagecraft::optimizers
