// SPDX-License-Identifier: BSD-3-Clause
// The penalty l1 * sum|w|.
// Keras counterpart: tf.keras.regularizers.l1.
#pragma once

#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::regularizers {

/// The penalty l1 * sum|w|.
struct l1 {
  /// The factor of the sum of absolute values.
  float l1 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.l1 = l1};
  }
};

}  // namespace stagecraft::regularizers
