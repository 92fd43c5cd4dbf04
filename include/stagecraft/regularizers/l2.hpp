// SPDX-License-Identifier: BSD-3-Clause
// The penalty l2 * sum w^2.
// Keras counterpart: tf.keras.regularizers.l2.
#pragma once

#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::regularizers {

/// The penalty l2 * sum w^2.
struct l2 {
  /// The factor of the sum of squares.
  float l2 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.l2 = l2};
  }
};

}  // namespace stagecraft::regularizers
