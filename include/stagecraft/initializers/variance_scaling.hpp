// SPDX-License-Identifier: BSD-3-Clause
// Initial values whose variance follows from the weight's fans: variance_scaling, and Glorot's, He's and LeCun's
// choices. Keras counterpart: VarianceScaling, GlorotUniform and the like of tf.keras.initializers.
#pragma once

#include <stagecraft/initializers/initializer.hpp>

namespace stagecraft::initializers {

/// Weights whose variance is scale / fan; `mode` chooses the fan. Keras: tf.keras.initializers.VarianceScaling.
struct variance_scaling {
  /// The variance is this, divided by the fan.
  float scale = 1;
  /// The fan: the number of inputs, of outputs, or the mean of both.
  fan_mode mode = fan_mode::fan_in;
  /// The distribution that weights are drawn from.
  initializer_distribution distribution = initializer_distribution::truncated_normal;
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    auto result = initializer::of(initializer_kind::variance_scaling, seed, scale);
    result.mode = mode;
    result.distribution = distribution;
    return result;
  }
};

/// Uniform weights with variance 1 / fan, fan = (fan_in + fan_out) / 2. Keras: tf.keras.initializers.GlorotUniform.
/// They lie in +-sqrt(3 / fan). Keras's default for kernels.
struct glorot_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::glorot_uniform, seed);
  }
};

/// Truncated normal weights with variance 1 / fan, fan = (fan_in + fan_out) / 2. Keras:
/// tf.keras.initializers.GlorotNormal.
/// Truncated normal, variance 1 / fan with fan = (fan_in + fan_out) / 2.
struct glorot_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::glorot_normal, seed);
  }
};

/// Uniform weights with variance 2 / fan, fan = fan_in. Keras: tf.keras.initializers.HeUniform.
/// They lie in +-sqrt(6 / fan).
struct he_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::he_uniform, seed);
  }
};

/// Truncated normal weights with variance 2 / fan, fan = fan_in. Keras: tf.keras.initializers.HeNormal.
/// Truncated normal, variance 2 / fan with fan = fan_in.
struct he_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::he_normal, seed);
  }
};

/// Uniform weights with variance 1 / fan, fan = fan_in. Keras: tf.keras.initializers.LecunUniform.
/// They lie in +-sqrt(3 / fan).
struct lecun_uniform {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::lecun_uniform, seed);
  }
};

/// Truncated normal weights with variance 1 / fan, fan = fan_in. Keras: tf.keras.initializers.LecunNormal.
/// Truncated normal, variance 1 / fan with fan = fan_in.
struct lecun_normal {
  std::uint64_t seed = 0;  ///< 0: taken from the trainer's seed

  constexpr operator initializer() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return initializer::of(initializer_kind::lecun_normal, seed);
  }
};

}  // namespace stagecraft::initializers
