// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of class numbers against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.SparseCategoricalCrossentropy. Level 2 of the house: options only, the loops are
// in kernels/loss.hpp.
#pragma once

#include <string_view>

namespace stagecraft::losses {

/// -log p[y] with y an integer class number, one per row; prediction (rows, classes).
/// Of an output that comes from softmax or sigmoid the logits are taken, as in Keras. From other probabilities
/// Keras clips to [1e-7, 1 - 1e-7] and normalises again (softmax of the logarithms).
struct sparse_categorical_crossentropy {
  bool from_logits = false;  ///< true: the model's output is unnormalised, the loss applies softmax itself

  static constexpr std::string_view name = "sparse_categorical_crossentropy";
  static constexpr bool sparse_targets = true;

  friend constexpr bool operator==(sparse_categorical_crossentropy const&,
                                   sparse_categorical_crossentropy const&) = default;
};

}  // namespace stagecraft::losses
