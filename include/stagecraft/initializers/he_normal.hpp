// SPDX-License-Identifier: BSD-3-Clause
// Truncated normal weights with variance 2 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.HeNormal.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Truncated normal, variance 2 / fan with fan = fan_in.
struct he_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::he_normal,
            .a = 2.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::truncated_normal,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
