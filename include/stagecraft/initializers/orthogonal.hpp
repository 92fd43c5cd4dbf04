// SPDX-License-Identifier: BSD-3-Clause
// Orthogonal rows or columns.
// Keras counterpart: tf.keras.initializers.Orthogonal.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// A matrix (all but the last axis are rows) with orthonormal rows or columns, times `gain`. Rank 2 or more.
struct orthogonal {
  /// The factor that the orthogonal matrix is multiplied by.
  float gain = 1;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::orthogonal, .a = gain, .seed = seed};
  }
};

}  // namespace stagecraft::initializers
