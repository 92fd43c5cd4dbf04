// SPDX-License-Identifier: BSD-3-Clause
// The identity matrix.
// Keras counterpart: tf.keras.initializers.Identity.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// `gain` on the main diagonal, 0 elsewhere. Rank 2 only.
struct identity {
  /// The number on the diagonal.
  float gain = 1;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::identity, .a = gain};
  }
};

}  // namespace stagecraft::initializers
