// SPDX-License-Identifier: BSD-3-Clause
// The first values of a weight tensor by an initializer, the tensor's shape and a seed. Keras counterpart:
// tf.keras.initializers (same distributions, other random bits). Do not call it in a training step: orthogonal matrices
// allocate.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/kernels/random/random.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::kernels {

/// The number of inputs that a weight tensor joins to one output, and of outputs that one input reaches.
struct fans {
  double in;
  double out;
};

/// Keras's rule: the last two axes are inputs and outputs, all axes before them are the receptive field of a
/// convolution. A vector has its length as both, a scalar has 1.
[[nodiscard]] constexpr fans compute_fans(tracing::array_view<int const> shape) {
  if (shape.empty()) return {1, 1};
  if (shape.size() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  double receptive_field = 1;
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) receptive_field *= shape[axis];
  return {shape[shape.size() - 2] * receptive_field, shape[shape.size() - 1] * receptive_field};
}

/// A number from the standard normal distribution (Box and Muller), made of the counters 2 i and 2 i + 1.
[[nodiscard]] inline float random_normal(random_key const& key, std::uint64_t i) {
  constexpr double two_pi = 6.283185307179586476925;
  double const u = 1.0 - static_cast<double>(random_uniform(key, 2 * i));  // in (0, 1]
  auto const v = static_cast<double>(random_uniform(key, 2 * i + 1));
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(two_pi * v));
}

/// A number from the standard normal distribution truncated to [-2, 2]: drawn again until it fits.
[[nodiscard]] inline float random_truncated_normal(random_key const& key, std::uint64_t i) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    float const value = random_normal(key, i + (attempt << 48U));
    if (value >= -2.0F && value <= 2.0F) return value;
  }
}

namespace detail {

// The arithmetic below multiplies floats as doubles, which is exact, so that a compiler that fuses multiplication and
// addition computes the same bits as one that does not.

inline void fill_uniform(float* w, std::int64_t n, float low, float high, random_key const& key) {
  auto const range = static_cast<double>(static_cast<float>(static_cast<double>(high) - static_cast<double>(low)));
  for (std::int64_t i = 0; i < n; ++i)
    w[i] = static_cast<float>(static_cast<double>(low) +
                              range * static_cast<double>(random_uniform(key, static_cast<std::uint64_t>(i))));
}

inline void fill_normal(float* w, std::int64_t n, float mean, float stddev, bool truncated, random_key const& key) {
  for (std::int64_t i = 0; i < n; ++i) {
    auto const counter = static_cast<std::uint64_t>(i);
    float const z = truncated ? random_truncated_normal(key, counter) : random_normal(key, counter);
    w[i] = static_cast<float>(static_cast<double>(mean) + static_cast<double>(stddev) * static_cast<double>(z));
  }
}

[[nodiscard, gnu::cold]] inline double scaled_variance(initializer const& how, tracing::array_view<int const> shape) {
  fans const fan = compute_fans(shape);
  double divisor = fan.in;
  if (how.fan() == fan_mode::fan_out) divisor = fan.out;
  if (how.fan() == fan_mode::fan_avg) divisor = (fan.in + fan.out) / 2;
  return static_cast<double>(how.scale()) / (divisor < 1 ? 1.0 : divisor);
}

template <initializer_distribution Distribution>
void fill_scaled(double variance, float* w, std::int64_t n, random_key const& key) {
  if constexpr (Distribution == initializer_distribution::uniform) {
    auto const limit = static_cast<float>(std::sqrt(3.0 * variance));
    fill_uniform(w, n, -limit, limit, key);
  } else if constexpr (Distribution == initializer_distribution::truncated_normal) {
    // The constant is the standard deviation of the truncated standard normal distribution.
    fill_normal(w, n, 0, static_cast<float>(std::sqrt(variance) / 0.87962566103423978), true, key);
  } else {
    fill_normal(w, n, 0, static_cast<float>(std::sqrt(variance)), false, key);
  }
}

/// The dot product of two float vectors, in eight partial sums.
inline double dot(float const* a, float const* b, std::int64_t n) {
  double sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int part = 0; part < 8; ++part)
      sums[part] += static_cast<double>(a[i + part]) * static_cast<double>(b[i + part]);
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/// The Q of the QR decomposition (R's diagonal positive) of a normal random matrix, by Gram and Schmidt with each
/// vector orthogonalised twice. As in Keras, the longer axis is decomposed.
inline void fill_orthogonal(float* w, std::int64_t rows, std::int64_t columns, float gain, random_key const& key) {
  std::int64_t const length = rows > columns ? rows : columns;
  std::int64_t const count = rows > columns ? columns : rows;
  std::vector<float> vectors(static_cast<std::size_t>(length * count));
  for (std::int64_t j = 0; j < count; ++j) {
    float* const vector = vectors.data() + j * length;
    for (std::int64_t i = 0; i < length; ++i) vector[i] = random_normal(key, static_cast<std::uint64_t>(i * count + j));
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t k = 0; k < j; ++k) {
        float const* const other = vectors.data() + k * length;
        auto const share = static_cast<float>(dot(vector, other, length));
        for (std::int64_t i = 0; i < length; ++i)
          vector[i] = static_cast<float>(static_cast<double>(vector[i]) -
                                         static_cast<double>(share) * static_cast<double>(other[i]));
      }
      double const norm = std::sqrt(dot(vector, vector, length));
      for (std::int64_t i = 0; i < length; ++i) vector[i] = static_cast<float>(static_cast<double>(vector[i]) / norm);
    }
  }
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      w[row * columns + column] =
          gain * vectors[static_cast<std::size_t>(rows > columns ? column * length + row : row * length + column)];
}

/// The kind that has the same values as `kind`, with other numbers in the initializer.
[[nodiscard]] constexpr initializer_kind general_kind(initializer_kind kind) {
  switch (kind) {
    case initializer_kind::zeros:
    case initializer_kind::ones: return initializer_kind::constant;
    case initializer_kind::he_normal:
    case initializer_kind::lecun_normal: return initializer_kind::glorot_normal;
    case initializer_kind::he_uniform:
    case initializer_kind::lecun_uniform: return initializer_kind::glorot_uniform;
    default: return kind;
  }
}

/// Fills a tensor for an initializer of a general kind, `unit_forget_bias` excluded.
template <initializer_kind Kind>
void fill_with(initializer const& how, tracing::array_view<int const> shape, random_key const& key, float* w,
               std::int64_t n) {
  if constexpr (Kind == initializer_kind::constant) {
    for (std::int64_t i = 0; i < n; ++i) w[i] = how.a;
  } else if constexpr (Kind == initializer_kind::random_normal || Kind == initializer_kind::truncated_normal) {
    fill_normal(w, n, how.a, how.b, Kind == initializer_kind::truncated_normal, key);
  } else if constexpr (Kind == initializer_kind::random_uniform) {
    fill_uniform(w, n, how.a, how.b, key);
  } else if constexpr (Kind == initializer_kind::glorot_uniform) {
    fill_scaled<initializer_distribution::uniform>(scaled_variance(how, shape), w, n, key);
  } else if constexpr (Kind == initializer_kind::glorot_normal) {
    fill_scaled<initializer_distribution::truncated_normal>(scaled_variance(how, shape), w, n, key);
  } else if constexpr (Kind == initializer_kind::variance_scaling) {
    using enum initializer_distribution;
    double const variance = scaled_variance(how, shape);
    switch (how.distribution) {
      case truncated_normal: return fill_scaled<truncated_normal>(variance, w, n, key);
      case untruncated_normal: return fill_scaled<untruncated_normal>(variance, w, n, key);
      case uniform: return fill_scaled<uniform>(variance, w, n, key);
    }
  } else if constexpr (Kind == initializer_kind::orthogonal) {
    if (shape.size() < 2)
      throw data_error("E4091", "initializer orthogonal expects a tensor of rank 2 or more, got rank " +
                                    std::to_string(shape.size()));
    std::int64_t const columns = shape[shape.size() - 1];
    fill_orthogonal(w, columns == 0 ? 0 : n / columns, columns, how.a, key);
  } else if constexpr (Kind == initializer_kind::identity) {
    if (shape.size() != 2)
      throw data_error("E4090",
                       "initializer identity expects a tensor of rank 2, got rank " + std::to_string(shape.size()));
    for (std::int64_t i = 0; i < n; ++i) w[i] = i / shape[1] == i % shape[1] ? how.a : 0.0F;
  } else {
    static_assert(Kind == initializer_kind::own);  // w has its values already
  }
}

}  // namespace detail

/// Fills the row-major tensor w of the given shape. The values depend on the initializer's own seed if it has one (as
/// in Keras, equal seeds then give equal values), else on (seed, stream): give each weight of a model another stream.
///
/// An initializer of the user's own has filled w before, by its operations.
///
/// Throws data_error E4090 for an identity that is not a matrix, E4091 for an orthogonal tensor of rank below 2.
///
/// The initializer's kind is known to the compiler, so that a program has no code of other kinds.
template <initializer_kind Kind>
void initialize(initializer const& how, tracing::array_view<int const> shape, std::uint64_t seed, std::uint64_t stream,
                float* w) {
  std::int64_t n = 1;
  for (int const extent : shape) n *= extent;
  random_key const key = how.seed != 0 ? random_key(how.seed, 0) : random_key(seed, stream);
  detail::fill_with<detail::general_kind(Kind)>(how, shape, key, w, n);
  if (how.unit_forget_bias)
    for (std::int64_t i = n / 4; i < n / 2; ++i) w[i] = 1.0F;
}

}  // namespace stagecraft::kernels
