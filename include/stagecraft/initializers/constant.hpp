// SPDX-License-Identifier: BSD-3-Clause
// All weights the same value.
// Keras counterpart: tf.keras.initializers.Constant.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// All `value`.
struct constant {
  /// The number that all weights begin with.
  float value = 0;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::constant, .a = value};
  }
};

}  // namespace stagecraft::initializers
