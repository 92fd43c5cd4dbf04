// SPDX-License-Identifier: BSD-3-Clause
// Initial values that are drawn from distributions that do not depend on the weight's shape, and orthogonal matrices.
// Keras counterpart: RandomNormal, RandomUniform, TruncatedNormal and Orthogonal of tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Normally distributed weights. Keras: tf.keras.initializers.RandomNormal.
struct random_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation of the distribution.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::random_normal, seed, mean, stddev);
  }
};

/// Uniformly distributed weights in [minval, maxval). Keras: tf.keras.initializers.RandomUniform.
struct random_uniform {
  /// The smallest value that is drawn.
  float minval = -0.05F;
  /// No drawn value reaches this one.
  float maxval = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::random_uniform, seed, minval, maxval);
  }
};

/// Normally distributed weights; values further than two `stddev` from `mean` are drawn again. Keras:
/// tf.keras.initializers.TruncatedNormal.
struct truncated_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation before values further than two of it from the mean are drawn again.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::truncated_normal, seed, mean, stddev);
  }
};

/// A matrix (all but the last axis are rows) with orthonormal rows or columns, times `gain`. Keras:
/// tf.keras.initializers.Orthogonal. Rank 2 or more.
struct orthogonal {
  /// The factor that the orthogonal matrix is multiplied by.
  float gain = 1;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::orthogonal, seed, gain);
  }
};

}  // namespace stagecraft::initializers
