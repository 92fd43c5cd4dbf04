// SPDX-License-Identifier: BSD-3-Clause
// Gradient descent with optional (Nesterov) momentum, also with decoupled weight decay.
// Keras counterpart: tf.keras.optimizers.legacy.SGD (the optimizer of Keras 2.6), and tfa.optimizers.SGDW.
#pragma once

#include <stagecraft/optimizers/learning_rate.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <string_view>

namespace stagecraft::optimizers {

/// Gradient descent with optional (Nesterov) momentum. Keras counterpart: tf.keras.optimizers.legacy.SGD (Keras 2.6).
/// If momentum is 0: w -= learning_rate * g. /// Otherwise: m = momentum * m - learning_rate * g, then w += m, or w +=
/// momentum * m - learning_rate * g for Nesterov.
struct sgd {
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.01F;
  /// The share of its last movement that a weight keeps; 0: none.
  float momentum = 0;
  /// True if the momentum is Nesterov's, which looks one movement ahead.
  bool nesterov = false;
#include <stagecraft/optimizers/common_options.hpp>

  using listed_options = sgd;
  static constexpr std::string_view name = "sgd";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const rate = decayed_rate(ops, decay);
    if (momentum == 0) {
      ops.update(weight, weight - rate * gradient);
      return;
    }
    auto const movement = ops.slot("momentum");
    auto const next = movement * momentum - rate * gradient;
    ops.update(movement, next);
    ops.update(weight, nesterov ? weight + next * momentum - rate * gradient : weight + next);
  }

  friend constexpr bool operator==(sgd const&, sgd const&) = default;
};

/// Gradient descent with decoupled weight decay. Counterpart: tfa.optimizers.SGDW.
/// The step of `sgd`, and w -= weight_decay w, whatever the learning rate is.
struct sgdw {
  /// The share of itself that a weight loses in an update.
  float weight_decay = 0;
  /// The learning rate, by which an update moves weights against their gradients: a number or a schedule.
  stagecraft::learning_rate learning_rate = 0.001F;
  /// The share of its last movement that a weight keeps; 0: none.
  float momentum = 0;
  /// True if the momentum is Nesterov's, which looks one movement ahead.
  bool nesterov = false;
#include <stagecraft/optimizers/common_options.hpp>
  /// Weights in whose names any of these texts is do not shrink, such as `{"bias", "normalization"}`; at most four.
  weight_names exclude_from_weight_decay = {};

  using listed_options = sgdw;
  static constexpr std::string_view name = "sgdw";

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    detail::decaying decays(ops, weight, weight_decay);
    sgd{.momentum = momentum, .nesterov = nesterov, .decay = decay}.update(decays, weight, gradient);
  }

  friend constexpr bool operator==(sgdw const&, sgdw const&) = default;
};

}  // namespace stagecraft::optimizers
