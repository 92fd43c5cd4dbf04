// SPDX-License-Identifier: BSD-3-Clause
// Uniformly distributed weights.
// Keras counterpart: tf.keras.initializers.RandomUniform.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Uniform in [minval, maxval).
struct random_uniform {
  /// The smallest value that is drawn.
  float minval = -0.05F;
  /// No drawn value reaches this one.
  float maxval = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_uniform, .a = minval, .b = maxval, .seed = seed};
  }
};

}  // namespace stagecraft::initializers
