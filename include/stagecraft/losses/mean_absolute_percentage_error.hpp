// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences in percent of the targets.
// Keras counterpart: tf.keras.losses.MeanAbsolutePercentageError.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of 100 |prediction - target| / max(|target|, 1e-7); both (rows, columns).
struct mean_absolute_percentage_error {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "mean_absolute_percentage_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return abs((target - output) / maximum(abs(target), detail::probability_epsilon)) * 100.0F;
  }
};

using mape = mean_absolute_percentage_error;  ///< the same, as in Keras

}  // namespace stagecraft::losses
