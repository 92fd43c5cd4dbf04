// SPDX-License-Identifier: BSD-3-Clause
// What a Poisson distribution of the predicted mean says of counts.
// Keras counterpart: tf.keras.losses.Poisson.
#pragma once

#include <stagecraft/losses/probabilities.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <string_view>

namespace stagecraft::losses {

/// mean over the last axis of prediction - target log(prediction + 1e-7); both (rows, columns).
struct poisson {
  /// How the losses of rows become one.
  losses::reduction reduction = losses::reduction::sum_over_batch_size;

  static constexpr std::string_view name = "poisson";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return output - target * log(output + detail::probability_epsilon);
  }

  friend constexpr bool operator==(poisson const&, poisson const&) = default;
};

}  // namespace stagecraft::losses
