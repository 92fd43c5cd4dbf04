// SPDX-License-Identifier: BSD-3-Clause
// Squared differences near 0, absolute differences further out.
// Keras counterpart: tf.keras.losses.Huber.
#pragma once

#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of e^2 / 2 for |e| <= delta and delta |e| - delta^2 / 2 beyond, e = prediction - target.
/// Keras's name of the loss is `huber_loss` in logs of version 2.6 and `huber` as an identifier.
struct huber {
  float delta = 1;                   ///< where the square becomes a line
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "huber";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    auto const slope = maximum(minimum(error, delta), -delta);
    return slope * (error - slope * 0.5F);
  }
};

}  // namespace stagecraft::losses
