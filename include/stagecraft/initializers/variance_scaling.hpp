// SPDX-License-Identifier: BSD-3-Clause
// Weights whose variance is scale / fan.
// Keras counterpart: tf.keras.initializers.VarianceScaling. Level 0 of the house.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Variance `scale / fan`; the fan is chosen by `mode`.
struct variance_scaling {
  float scale = 1;
  fan_mode mode = fan_mode::fan_in;
  initializer_distribution distribution = initializer_distribution::truncated_normal;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::variance_scaling,
            .a = scale,
            .mode = mode,
            .distribution = distribution,
            .seed = seed};
  }
};

}  // namespace stagecraft::initializers
