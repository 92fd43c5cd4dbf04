// SPDX-License-Identifier: BSD-3-Clause
// Mean of squared differences of logarithms.
// Keras counterpart: tf.keras.losses.MeanSquaredLogarithmicError.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <string_view>

namespace stagecraft::losses {

/// mean over the last axis of (log(1 + prediction) - log(1 + target))^2; both (rows, columns). Numbers below 1e-7 count
/// as that, and their gradient is 0.
struct mean_squared_logarithmic_error {
  /// How the losses of rows become one.
  losses::reduction reduction = losses::reduction::sum_over_batch_size;

  static constexpr std::string_view name = "mean_squared_logarithmic_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    constexpr auto logarithm = [](auto x) { return log(maximum(x, detail::probability_epsilon) + 1); };
    return square(logarithm(output) - logarithm(target));
  }

  friend constexpr bool operator==(mean_squared_logarithmic_error const&,
                                   mean_squared_logarithmic_error const&) = default;
};

using msle = mean_squared_logarithmic_error;  ///< the same, as in Keras

}  // namespace stagecraft::losses
