// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of class numbers against one probability (or logit) per class.
// Keras counterpart: tf.keras.losses.SparseCategoricalCrossentropy. A faster loop for it is in kernels/.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <limits>

namespace stagecraft::losses {

/// -log p[y] with y an integer class number, one per row; prediction (rows, classes). Along another axis than the last
/// one, targets have the output's shape without that axis.
/// Of an output that comes from softmax or sigmoid the logits are taken, as in Keras. From other probabilities
/// Keras clips to [1e-7, 1 - 1e-7] and normalises again (softmax of the logarithms). A number that is no class makes
/// the loss of its row and the gradient NaN.
struct sparse_categorical_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies softmax itself
  int axis = -1;                     ///< along which the classes lie; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "sparse_categorical_crossentropy";
  static constexpr bool sparse_targets = true;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const is_class = equal(ops.iota(output.shape()), target);
    auto const x = output * where(ops.max(is_class, -1), 1.0F, std::numeric_limits<float>::quiet_NaN());
    auto const of_class = [&](auto each) { return ops.sum(where(is_class, each, 0.0F), -1); };
    if (from_logits) {
      auto const shifted = x - operations::stop_gradient(ops.max(x, -1));
      return log(ops.sum(exp(shifted), -1)) - of_class(shifted);
    }
    auto const p = detail::clip_probability(x);
    return log(ops.sum(p, -1)) - log(of_class(p));
  }
};

}  // namespace stagecraft::losses
