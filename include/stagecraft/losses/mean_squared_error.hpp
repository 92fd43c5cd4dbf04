// SPDX-License-Identifier: BSD-3-Clause
// Mean of squared differences.
// Keras counterpart: tf.keras.losses.MeanSquaredError. Level 2 of the house: options only, the loops are in
// kernels/loss.hpp.
#pragma once

#include <string_view>

namespace stagecraft::losses {

/// mean over the last axis of (prediction - target)^2; both (rows, columns).
struct mean_squared_error {
  static constexpr std::string_view name = "mean_squared_error";
  static constexpr bool sparse_targets = false;

  friend constexpr bool operator==(mean_squared_error const&, mean_squared_error const&) = default;
};

}  // namespace stagecraft::losses
