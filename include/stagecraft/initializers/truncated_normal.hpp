// SPDX-License-Identifier: BSD-3-Clause
// Normally distributed weights, redrawn outside of two standard deviations.
// Keras counterpart: tf.keras.initializers.TruncatedNormal.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Normal distribution; values further than two `stddev` from `mean` are drawn again.
struct truncated_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation before what lies more than two of it from the mean is drawn again.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::truncated_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

}  // namespace stagecraft::initializers
