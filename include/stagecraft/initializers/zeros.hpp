// SPDX-License-Identifier: BSD-3-Clause
// All weights 0.
// Keras counterpart: tf.keras.initializers.Zeros.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// All 0. The default of biases.
struct zeros {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::zeros};
  }
};

}  // namespace stagecraft::initializers
