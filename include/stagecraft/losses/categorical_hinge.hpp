// SPDX-License-Identifier: BSD-3-Clause
// The margin between the class and the best of the others.
// Keras counterpart: tf.keras.losses.CategoricalHinge.
#pragma once

#include <stagecraft/losses/reduction.hpp>
#include <string_view>

namespace stagecraft::losses {

/// max(0, 1 + max((1 - target) prediction) - sum(target prediction)) over the last axis; both (rows, columns).
struct categorical_hinge {
  /// How the losses of rows become one.
  losses::reduction reduction = losses::reduction::sum_over_batch_size;

  static constexpr std::string_view name = "categorical_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return maximum(ops.max((1 - target) * output, -1) - ops.sum(target * output, -1) + 1, 0.0F);
  }

  friend constexpr bool operator==(categorical_hinge const&, categorical_hinge const&) = default;
};

}  // namespace stagecraft::losses
