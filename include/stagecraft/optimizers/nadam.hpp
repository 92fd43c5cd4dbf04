// SPDX-License-Identifier: BSD-3-Clause
// Adaptive moment estimation with Nesterov's momentum.
// Keras counterpart: tf.keras.optimizers.legacy.Nadam (the optimizer of Keras 2.6).
#pragma once

#include <stagecraft/optimizers/decay.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// At step t = 1, 2, ..., with b(t) = beta_1 (1 - 0.96^(schedule_decay t) / 2) and p = b(1) b(2) ... b(t):
/// m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate ((1 - b(t)) g / (1 - p) + b(t + 1) m / (1 - p b(t + 1))) / (sqrt(v / (1 - beta_2^t)) + epsilon).
/// p is kept with each weight.
struct nadam {
  /// How far weights move against their gradients in an update: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// How fast the momentum grows.
  float schedule_decay = 0.004F;
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

  static constexpr std::string_view name = "nadam";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const m = ops.slot("m"), v = ops.slot("v"), product = ops.slot("m_schedule");
    auto const t = ops.step();
    auto const momentum_at = [&](auto step) { return (1 - 0.5F * pow(0.96F, step * schedule_decay)) * beta_1; };
    auto const momentum = momentum_at(t), next_momentum = momentum_at(t + 1);
    auto const product_now = where(equal(t, 1.0F), 1.0F, product) * momentum;
    auto const m_now = m * beta_1 + gradient * (1 - beta_1);
    auto const v_now = v * beta_2 + square(gradient) * (1 - beta_2);
    ops.update(m, m_now);
    ops.update(v, v_now);
    ops.update(product, product_now);
    auto const ahead =
        gradient * ((1 - momentum) / (1 - product_now)) + m_now * (next_momentum / (1 - product_now * next_momentum));
    auto const root = sqrt(v_now * (1 / (1 - pow(beta_2, t))));
    ops.update(weight, weight - decayed_rate(ops, decay) * (ahead / (root + epsilon)));
  }

  friend constexpr bool operator==(nadam const&, nadam const&) = default;
};

}  // namespace stagecraft::optimizers
