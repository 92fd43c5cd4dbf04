// SPDX-License-Identifier: BSD-3-Clause
// The regularizers that have a name: l1, l2 and both.
// Keras counterpart: tf.keras.regularizers.
#pragma once

#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::regularizers {

/// The penalty l1 * sum|w|. Keras counterpart: tf.keras.regularizers.l1.
struct l1 {
  /// The factor of the sum of absolute values.
  float l1 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    regularizer result{};
    result.l1 = l1;
    return result;
  }
};

/// The penalty l2 * sum w^2. Keras counterpart: tf.keras.regularizers.l2.
struct l2 {
  /// The factor of the sum of squares.
  float l2 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    regularizer result{};
    result.l2 = l2;
    return result;
  }
};

/// The penalty l1 * sum|w| + l2 * sum w^2. Keras counterpart: tf.keras.regularizers.l1_l2.
struct l1_l2 {
  /// The factor of the sum of absolute values.
  float l1 = 0.01F;
  /// The factor of the sum of squares.
  float l2 = 0.01F;

  constexpr operator regularizer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    regularizer result{};
    result.l1 = l1;
    result.l2 = l2;
    return result;
  }
};

}  // namespace stagecraft::regularizers
