// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of independent yes/no targets.
// Keras counterpart: tf.keras.losses.BinaryCrossentropy.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of -(y log p + (1 - y) log(1 - p)); target and prediction (rows, columns).
/// Of an output that comes from softmax or sigmoid the logits are taken, as in Keras. From other probabilities
/// Keras clips to [1e-7, 1 - 1e-7] and adds 1e-7 inside the logarithms.
struct binary_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies sigmoid itself
  float label_smoothing = 0;         ///< s: targets become y (1 - s) + s / 2
  int axis = -1;                     ///< along which the mean is taken; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "binary_crossentropy";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const y = label_smoothing == 0 ? target : target * (1 - label_smoothing) + 0.5F * label_smoothing;
    if (from_logits) {
      // In place of max and abs, whose derivatives at 0 would not add up to the sigmoid.
      auto const is_positive = output >= 0;
      return where(is_positive, output, 0.0F) - output * y + operations::softplus(where(is_positive, -output, output));
    }
    constexpr float epsilon = detail::probability_epsilon;
    auto const p = detail::clip_probability(output);
    return -(y * log(p + epsilon)) - (1 - y) * log(1 - p + epsilon);
  }
};

using bce = binary_crossentropy;  ///< the same, as in Keras

}  // namespace stagecraft::losses
