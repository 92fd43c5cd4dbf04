// SPDX-License-Identifier: BSD-3-Clause
// Mean of squared differences of logarithms.
// Keras counterpart: tf.keras.losses.MeanSquaredLogarithmicError.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of (log(1 + prediction) - log(1 + target))^2; both (rows, columns). Numbers below 1e-7 count
/// as that, and their gradient is 0.
struct mean_squared_logarithmic_error {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "mean_squared_logarithmic_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    constexpr auto logarithm = [](auto x) { return log(maximum(x, detail::probability_epsilon) + 1); };
    return square(logarithm(output) - logarithm(target));
  }
};

using msle = mean_squared_logarithmic_error;  ///< the same, as in Keras

}  // namespace stagecraft::losses
