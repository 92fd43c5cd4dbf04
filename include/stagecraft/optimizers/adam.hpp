// SPDX-License-Identifier: BSD-3-Clause
// Adam and its kin: adamw, adamax, nadam.
// Keras counterpart: Adam, Adamax and Nadam of tf.keras.optimizers.legacy (Keras 2.6), and tfa.optimizers.AdamW.
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// Adaptive moment estimation. Keras counterpart: tf.keras.optimizers.legacy.Adam (Keras 2.6).
/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
/// amsgrad divides by the largest v seen so far instead of v.
struct adam {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// True if updates are divided by the largest v so far, in place of v.
  bool amsgrad = false;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = adam;
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

/// Adaptive moment estimation with decoupled weight decay. Counterpart: tfa.optimizers.AdamW.
/// The step of `adam`, and w -= weight_decay w, whatever the learning rate is.
struct adamw {
  /// The share of itself that a weight loses in an update.
  float weight_decay = 0;
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// True if updates are divided by the largest v so far, in place of v.
  bool amsgrad = false;
#include <stagecraft/optimizers/common_options.hpp>
  /// Weights in whose names any of these texts is do not shrink, such as `{"bias", "normalization"}`; at most four.
  weight_names exclude_from_weight_decay = {};

  using listed_options = adamw;
  static constexpr std::string_view name = "adamw";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    detail::decaying decays(ops, weight, weight_decay);
    adam{.beta_1 = beta_1, .beta_2 = beta_2, .epsilon = epsilon, .amsgrad = amsgrad, .decay = decay}.update(
        decays, weight, gradient);
  }

  friend constexpr bool operator==(adamw const&, adamw const&) = default;
};

/// Adaptive moment estimation by the largest gradient. Keras counterpart: tf.keras.optimizers.legacy.Adamax (Keras
/// 2.6).
/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = max(beta_2 v, |g|),
/// w -= learning_rate / (1 - beta_1^t) * m / (v + epsilon).
struct adamax {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the largest gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = adamax;
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

/// Adaptive moment estimation with Nesterov's momentum. Keras counterpart: tf.keras.optimizers.legacy.Nadam (Keras
/// 2.6).
/// At step t = 1, 2, ..., with b(t) = beta_1 (1 - 0.96^(schedule_decay t) / 2) and p = b(1) b(2) ... b(t):
/// m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate ((1 - b(t)) g / (1 - p) + b(t + 1) m / (1 - p b(t + 1))) / (sqrt(v / (1 - beta_2^t)) + epsilon).
/// p is kept with each weight.
struct nadam {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of the mean gradient m that an update keeps.
  float beta_1 = 0.9F;
  /// The share of the mean squared gradient v that an update keeps.
  float beta_2 = 0.999F;
  /// A small number in the denominator, so that nothing is divided by 0.
  float epsilon = 1e-7F;
  /// The rate at which the momentum grows.
  float schedule_decay = 0.004F;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = nadam;
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
