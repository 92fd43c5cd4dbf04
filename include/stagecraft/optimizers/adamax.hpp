// SPDX-License-Identifier: BSD-3-Clause
// Adaptive moment estimation by the largest gradient.
// Keras counterpart: tf.keras.optimizers.legacy.Adamax (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/decay.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = max(beta_2 v, |g|),
/// w -= learning_rate / (1 - beta_1^t) * m / (v + epsilon).
struct adamax {
  /// How far weights move against their gradients in an update: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the largest gradient v that an update keeps.
  float beta_2 = 0.999F;
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

  static constexpr std::string_view name = "adamax";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const m = ops.slot("m"), v = ops.slot("v");
    auto const m_now = m * beta_1 + gradient * (1 - beta_1);
    auto const v_now = maximum(v * beta_2, abs(gradient));
    ops.update(m, m_now);
    ops.update(v, v_now);
    auto const rate = decayed_rate(ops, decay) / (1 - pow(beta_1, ops.step()));
    ops.update(weight, weight - rate * (m_now / (v_now + epsilon)));
  }

  friend constexpr bool operator==(adamax const&, adamax const&) = default;
};

}  // namespace stagecraft::optimizers
