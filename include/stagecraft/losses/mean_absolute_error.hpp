// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences.
// Keras counterpart: tf.keras.losses.MeanAbsoluteError.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of |prediction - target|; both (rows, columns). The gradient at 0 is 0.
struct mean_absolute_error {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "mean_absolute_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const { return abs(output - target); }
};

using mae = mean_absolute_error;  ///< the same, as in Keras

}  // namespace stagecraft::losses
