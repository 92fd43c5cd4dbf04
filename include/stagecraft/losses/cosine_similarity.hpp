// SPDX-License-Identifier: BSD-3-Clause
// The angle between prediction and target.
// Keras counterpart: tf.keras.losses.CosineSimilarity.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// -sum(target prediction) over the last axis, both (rows, columns) divided by their norms: -1 in the same direction, 0
/// if either is 0.
struct cosine_similarity {
  int axis = -1;                     ///< along which the vectors lie; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "cosine_similarity";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const unit = [&](auto x) { return x * rsqrt(maximum(ops.sum(square(x), -1), 1e-12F)); };
    return -ops.sum(unit(target) * unit(output), -1);
  }
};

}  // namespace stagecraft::losses
