// SPDX-License-Identifier: BSD-3-Clause
// Weights whose variance is scale / fan.
// Keras counterpart: tf.keras.initializers.VarianceScaling.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Variance `scale / fan`; the fan is chosen by `mode`.
struct variance_scaling {
  /// The variance is this, divided by the fan.
  float scale = 1;
  /// The fan: the number of inputs, of outputs, or the mean of both.
  fan_mode mode = fan_mode::fan_in;
  /// The distribution that weights are drawn from.
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
