// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of a target distribution against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.CategoricalCrossentropy. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.
#pragma once

#include <string_view>

namespace stagecraft::losses {

/// -sum_c y[c] log p[c] over the last axis; target and prediction (rows, classes).
/// Of an output that comes from softmax or sigmoid the logits are taken, as in Keras. From other probabilities
/// Keras first divides by their sum, then clips to [1e-7, 1 - 1e-7].
struct categorical_crossentropy {
  bool from_logits = false;   ///< true: the model's output is unnormalised, the loss applies softmax itself
  float label_smoothing = 0;  ///< s: targets become y (1 - s) + s / classes

  static constexpr std::string_view name = "categorical_crossentropy";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(categorical_crossentropy const&, categorical_crossentropy const&) = default;
};

}  // namespace stagecraft::losses
