// SPDX-License-Identifier: BSD-3-Clause
// Uniform weights with variance 2 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.HeUniform.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Uniform in +-sqrt(6 / fan) with fan = fan_in.
struct he_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::he_uniform,
            .a = 2.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
