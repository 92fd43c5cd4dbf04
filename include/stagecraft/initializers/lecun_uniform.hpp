// SPDX-License-Identifier: BSD-3-Clause
// Uniform weights with variance 1 / fan, fan = fan_in.
// Keras counterpart: tf.keras.initializers.LecunUniform.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Uniform in +-sqrt(3 / fan) with fan = fan_in.
struct lecun_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::lecun_uniform,
            .a = 1.0F,
            .mode = fan_mode::fan_in,
            .distribution = initializer_distribution::uniform,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
