// SPDX-License-Identifier: BSD-3-Clause
// All weights 1.
// Keras counterpart: tf.keras.initializers.Ones.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// All 1. The default of normalisation scales.
struct ones {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::ones, .a = 1.0F};
  }
};

}  // namespace stagecraft::initializers
