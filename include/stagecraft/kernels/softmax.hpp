// SPDX-License-Identifier: BSD-3-Clause
// Softmax over the last axis of a row-major matrix, and its gradient.
// Keras counterpart: tf.keras.activations.softmax. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/simd.hpp>

#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// The largest value of a row, in four partial maxima. Unspecified if there is a NaN.
template <int Columns, class Arch>
[[nodiscard]] inline float row_max(float const* x) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int blocks = Columns / (4 * width) * (4 * width);
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  batch<Arch> largest(lowest);
  if constexpr (blocks > 0) {
    batch<Arch> part[4] = {largest, largest, largest, largest};
    for (int i = 0; i < blocks; i += 4 * width) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) part[k] = xsimd::max(part[k], batch<Arch>::load_unaligned(x + i + k * width));
    }
    largest = xsimd::max(xsimd::max(part[0], part[1]), xsimd::max(part[2], part[3]));
  }
  for (int i = blocks; i < whole; i += width) largest = xsimd::max(largest, batch<Arch>::load_unaligned(x + i));
  if constexpr (whole < Columns) largest = xsimd::max(largest, load_lanes_or<Columns - whole, Arch>(x + whole, lowest));
  return horizontal_max(largest);
}

}  // namespace detail

/// y = exp(x - max x) / sum exp(x - max x) for one row. y may be x. A NaN or +inf in x makes the whole row NaN.
template <int Columns, class Arch = default_architecture>
inline void softmax_row(float const* x, float* y) {
  constexpr int width = lanes<Arch>;
  constexpr int batches = (Columns + width - 1) / width;
  constexpr int last = Columns - (batches - 1) * width;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  if constexpr (batches <= 8) {  // the row stays in registers
    batch<Arch> values[batches];
#pragma GCC unroll 8
    for (int i = 0; i + 1 < batches; ++i) values[i] = batch<Arch>::load_unaligned(x + i * width);
    values[batches - 1] = load_lanes_or<last, Arch>(x + (batches - 1) * width, lowest);
    batch<Arch> largest = values[0];
#pragma GCC unroll 8
    for (int i = 1; i < batches; ++i) largest = xsimd::max(largest, values[i]);
    batch<Arch> const shift(horizontal_max(largest));
    batch<Arch> sum(0.0F);
#pragma GCC unroll 8
    for (int i = 0; i < batches; ++i) {
      values[i] = xsimd::exp(values[i] - shift);
      sum = sum + values[i];
    }
    batch<Arch> const scale(1.0F / horizontal_sum(sum));
#pragma GCC unroll 8
    for (int i = 0; i + 1 < batches; ++i) (values[i] * scale).store_unaligned(y + i * width);
    store_lanes<last>(values[batches - 1] * scale, y + (batches - 1) * width);
  } else {
    constexpr int whole = Columns / width * width;
    constexpr int rest = Columns - whole;
    batch<Arch> const shift(detail::row_max<Columns, Arch>(x));
    batch<Arch> sum(0.0F);
    for (int i = 0; i < whole; i += width) {
      batch<Arch> const value = xsimd::exp(batch<Arch>::load_unaligned(x + i) - shift);
      sum = sum + value;
      value.store_unaligned(y + i);
    }
    if constexpr (rest > 0) {
      batch<Arch> const value = xsimd::exp(load_lanes_or<rest, Arch>(x + whole, lowest) - shift);
      sum = sum + value;
      store_lanes<rest>(value, y + whole);
    }
    float const scale = 1.0F / horizontal_sum(sum);
    transform<Arch>(
        Columns, [scale](batch<Arch> const& v) { return v * batch<Arch>(scale); }, y, static_cast<float const*>(y));
  }
}

/// y = softmax(x) along the rows of a (Rows, Columns) matrix. y may be x.
template <int Rows, int Columns, class Arch = default_architecture>
inline void softmax(float const* x, float* y) {
  for (std::int64_t row = 0; row < Rows; ++row) softmax_row<Columns, Arch>(x + row * Columns, y + row * Columns);
}

/// dx = y * (dy - sum(y * dy)) along the rows, added to dx if Accumulate. Without Accumulate dx may be dy.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_gradient(float const* y, float const* dy, float* dx) {
  using value = batch<Arch>;
  for (std::int64_t row = 0; row < Rows; ++row, y += Columns, dy += Columns, dx += Columns) {
    value const dot(transform_sum<Arch>(Columns, [](value const& a, value const& b) { return a * b; }, y, dy));
    if constexpr (Accumulate)
      transform<Arch>(
          Columns, [dot](value const& p, value const& g, value const& sum) { return sum + p * (g - dot); }, dx, y, dy,
          static_cast<float const*>(dx));
    else
      transform<Arch>(Columns, [dot](value const& p, value const& g) { return p * (g - dot); }, dx, y, dy);
  }
}

}  // namespace stagecraft::kernels
