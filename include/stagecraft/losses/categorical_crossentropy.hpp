// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of a target distribution against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.CategoricalCrossentropy. A faster loop for it is in kernels/.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/operations/composite_gradient.hpp>

namespace stagecraft::losses {

/// -sum_c y[c] log p[c] over the last axis; target and prediction (rows, classes).
/// Of an output that comes from softmax or sigmoid the logits are taken, as in Keras. From other probabilities
/// Keras first divides by their sum, then clips to [1e-7, 1 - 1e-7].
struct categorical_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies softmax itself
  float label_smoothing = 0;         ///< s: targets become y (1 - s) + s / classes
  int axis = -1;                     ///< along which the classes lie; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "categorical_crossentropy";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const smooth = label_smoothing / static_cast<float>(output.length(-1));
    auto const y = label_smoothing == 0 ? target : target * (1 - label_smoothing) + smooth;
    if (!from_logits) return ops.sum(-(y * log(detail::clip_probability(output / ops.sum(output, -1)))), -1);
    return ops.composite(
        name, {y, output},
        [&] {
          auto const shifted = output - ops.max(output, -1);
          auto const each = y * (log(ops.sum(exp(shifted), -1)) - shifted);
          return ops.sum(where(equal(y, 0.0F), 0.0F, each), -1);  // also if the logit is -inf, as in TensorFlow
        },
        from_logits_rule);
  }

 private:
  /// TensorFlow's softmax(x) - y, which is the derivative if the target sums to 1.
  static constexpr void from_logits_rule(operations::composite_gradient& of) {
    of.give(1, (of.ops().softmax(of.read(1)) - of.read(0)) * of.gradient());
  }
};

}  // namespace stagecraft::losses
