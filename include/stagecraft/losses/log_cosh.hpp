// SPDX-License-Identifier: BSD-3-Clause
// Squares of small differences, absolute values of large ones, smoothly.
// Keras counterpart: tf.keras.losses.LogCosh.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of log(cosh(prediction - target)); both (rows, columns).
struct log_cosh {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "log_cosh";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    return error + softplus(error * -2.0F) - 0.693147181F;
  }
};

using logcosh = log_cosh;  ///< the same, as in Keras

}  // namespace stagecraft::losses
