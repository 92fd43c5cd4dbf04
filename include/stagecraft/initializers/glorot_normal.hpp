// SPDX-License-Identifier: BSD-3-Clause
// Truncated normal weights with variance 1 / fan, fan = (fan_in + fan_out) / 2.
// Keras counterpart: tf.keras.initializers.GlorotNormal.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Truncated normal, variance 1 / fan with fan = (fan_in + fan_out) / 2.
struct glorot_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::glorot_normal,
            .a = 1.0F,
            .mode = fan_mode::fan_avg,
            .distribution = initializer_distribution::truncated_normal,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
