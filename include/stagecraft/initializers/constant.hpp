// SPDX-License-Identifier: BSD-3-Clause
// Initial values that are not drawn: zeros, ones, constant, identity.
// Keras counterpart: the classes of the same names of tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// All weights 0. Keras: tf.keras.initializers.Zeros.
/// The default of biases.
struct zeros {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::zeros);
  }
};

/// All weights 1. Keras: tf.keras.initializers.Ones.
/// The default of normalisation scales.
struct ones {
  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::ones, 0, 1.0F);
  }
};

/// All weights `value`. Keras: tf.keras.initializers.Constant.
struct constant {
  /// The number that all weights begin with.
  float value = 0;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::constant, 0, value);
  }
};

/// The identity matrix. Keras: tf.keras.initializers.Identity.
/// `gain` on the main diagonal, 0 elsewhere. Rank 2 only.
struct identity {
  /// The number on the diagonal.
  float gain = 1;

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::identity, 0, gain);
  }
};

}  // namespace stagecraft::initializers
