// SPDX-License-Identifier: BSD-3-Clause
// The margin between the class and the best of the others.
// Keras counterpart: tf.keras.losses.CategoricalHinge.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// max(0, 1 + max((1 - target) prediction) - sum(target prediction)) over the last axis; both (rows, columns).
struct categorical_hinge {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "categorical_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return maximum(ops.max((1 - target) * output, -1) - ops.sum(target * output, -1) + 1, 0.0F);
  }
};

}  // namespace stagecraft::losses
