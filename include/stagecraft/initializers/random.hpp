// SPDX-License-Identifier: BSD-3-Clause
// Initial values that are drawn from distributions that do not depend on the weight's shape, and orthogonal matrices.
// Keras counterpart: RandomNormal, RandomUniform, TruncatedNormal and Orthogonal of tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Normally distributed weights. Keras: tf.keras.initializers.RandomNormal.
/// Normal distribution.
struct random_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation of the distribution.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

/// Uniformly distributed weights. Keras: tf.keras.initializers.RandomUniform.
/// Uniform in [minval, maxval).
struct random_uniform {
  /// The smallest value that is drawn.
  float minval = -0.05F;
  /// No drawn value reaches this one.
  float maxval = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::random_uniform, .a = minval, .b = maxval, .seed = seed};
  }
};

/// Normally distributed weights, redrawn outside of two standard deviations. Keras:
/// tf.keras.initializers.TruncatedNormal.
/// Normal distribution; values further than two `stddev` from `mean` are drawn again.
struct truncated_normal {
  /// The mean of the distribution.
  float mean = 0;
  /// The standard deviation before what lies more than two of it from the mean is drawn again.
  float stddev = 0.05F;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return {.kind = initializer_kind::truncated_normal, .a = mean, .b = stddev, .seed = seed};
  }
};

/// Orthogonal rows or columns. Keras: tf.keras.initializers.Orthogonal.
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
