// SPDX-License-Identifier: BSD-3-Clause
// Squares of small differences, absolute values of large ones, smoothly.
// Keras counterpart: tf.keras.losses.LogCosh.
#pragma once

#include <stagecraft/losses/reduction.hpp>
#include <string_view>

namespace stagecraft::losses {

/// mean over the last axis of log(cosh(prediction - target)); both (rows, columns).
struct log_cosh {
  /// How the losses of rows become one.
  losses::reduction reduction = losses::reduction::sum_over_batch_size;

  static constexpr std::string_view name = "log_cosh";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    return error + softplus(error * -2.0F) - 0.693147181F;
  }

  friend constexpr bool operator==(log_cosh const&, log_cosh const&) = default;
};

using logcosh = log_cosh;  ///< the same, as in Keras

}  // namespace stagecraft::losses
