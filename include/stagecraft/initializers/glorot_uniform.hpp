// SPDX-License-Identifier: BSD-3-Clause
// Uniform weights with variance 1 / fan, fan = (fan_in + fan_out) / 2.
// Keras counterpart: tf.keras.initializers.GlorotUniform.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Uniform in +-sqrt(3 / fan) with fan = (fan_in + fan_out) / 2. Keras's default for kernels.
struct glorot_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::glorot_uniform,
            .a = 1.0F,
            .mode = fan_mode::fan_avg,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
