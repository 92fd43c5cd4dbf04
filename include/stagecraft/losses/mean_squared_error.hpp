// SPDX-License-Identifier: BSD-3-Clause
// Mean of squared differences.
// Keras counterpart: tf.keras.losses.MeanSquaredError.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of (prediction - target)^2; both (rows, columns).
struct mean_squared_error {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "mean_squared_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const { return square(output - target); }
};

using mse = mean_squared_error;  ///< the same, as in Keras

}  // namespace stagecraft::losses
