// SPDX-License-Identifier: BSD-3-Clause
// Normally distributed weights.
// Keras counterpart: tf.keras.initializers.RandomNormal.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Normal distribution.
struct random_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation of the distribution.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

}  // namespace stagecraft::initializers
