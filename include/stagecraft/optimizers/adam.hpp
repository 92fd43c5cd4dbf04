// SPDX-License-Identifier: BSD-3-Clause
// Adaptive moment estimation.
// Keras counterpart: tf.keras.optimizers.legacy.Adam (the optimizer of Keras 2.6). Level 2 of the house: options only,
// the loops are in kernels/update.hpp.
#pragma once

#include <string_view>

namespace stagecraft::optimizers {

/// At step t = 1, 2, ...: m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2,
/// w -= learning_rate sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon).
/// amsgrad divides by the largest v seen so far instead of v.
struct adam {
  /// How far weights move against their gradients in an update.
  float learning_rate = 0.001F;
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

  static constexpr std::string_view name = "adam";

  /// State values per weight, in this order: m, v, largest v (only if amsgrad).
  [[nodiscard]] constexpr int slots() const { return amsgrad ? 3 : 2; }

  friend constexpr bool operator==(adam const&, adam const&) = default;
};

}  // namespace stagecraft::optimizers
