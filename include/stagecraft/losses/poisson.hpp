// SPDX-License-Identifier: BSD-3-Clause
// What a Poisson distribution of the predicted mean says of counts.
// Keras counterpart: tf.keras.losses.Poisson.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// mean over the last axis of prediction - target log(prediction + 1e-7); both (rows, columns).
struct poisson {
  losses::reduction reduction = {};  ///< how the losses of rows become one: their sum, divided by the batch size

  static constexpr std::string_view name = "poisson";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return output - target * log(output + detail::probability_epsilon);
  }
};

}  // namespace stagecraft::losses
