// SPDX-License-Identifier: BSD-3-Clause
// Adaptive moment estimation.
// Keras counterpart: tf.keras.optimizers.legacy.Adam (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/decay.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
/// amsgrad divides by the largest v seen so far instead of v.
struct adam {
  /// How far weights move against their gradients in an update: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// Whether updates are divided by the largest v so far, in place of v.
  bool amsgrad = false;
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

  static constexpr std::string_view name = "adam";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const m = ops.slot("m"), v = ops.slot("v");
    auto const m_now = m * beta_1 + gradient * (1 - beta_1);
    auto const v_now = v * beta_2 + square(gradient) * (1 - beta_2);
    ops.update(m, m_now);
    ops.update(v, v_now);
    auto largest = v_now;
    if (amsgrad) {
      auto const vhat = ops.slot("vhat");
      largest = maximum(vhat, v_now);
      ops.update(vhat, largest);
    }
    auto const step = ops.step();
    auto const rate = decayed_rate(ops, decay) * sqrt(1 - pow(beta_2, step)) / (1 - pow(beta_1, step));
    ops.update(weight, weight - rate * (m_now / (sqrt(largest) + epsilon)));
  }

  friend constexpr bool operator==(adam const&, adam const&) = default;
};

}  // namespace stagecraft::optimizers
