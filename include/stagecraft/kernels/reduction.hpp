// SPDX-License-Identifier: BSD-3-Clause
// Sums, means and maxima of arrays, of the rows and of the columns of a matrix. The order of every sum is fixed by the
// shape and the instruction set, never by the number of threads. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>

#include <cstdint>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

template <class Arch>
struct sum_of_batches {
  static constexpr float start = 0;
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) { return a + b; }
  static float of_lanes(batch<Arch> const& x) { return horizontal_sum(x); }
};

/// The maximum of TensorFlow and NumPy: NaN if any number is NaN.
template <class Arch>
struct maximum_of_batches {
  static constexpr float start = -std::numeric_limits<float>::infinity();
  static batch<Arch> join(batch<Arch> const& a, batch<Arch> const& b) {
    return xsimd::select(xsimd::isnan(b), b, at_least(a, b));
  }
  static float of_lanes(batch<Arch> const& x) {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    float largest = values[0];
    for (int lane = 1; lane < lanes<Arch>; ++lane)
      largest = values[lane] > largest || values[lane] != values[lane] ? values[lane] : largest;
    return largest;
  }
};

/// Arrays from this size on (in floats) come from beyond the second-level cache; what is read so many floats ahead is
/// there in time.
inline constexpr std::int64_t large_array = 1 << 16;
inline constexpr std::int64_t prefetch_distance = 512;

/// The batch of partial results of n floats, in eight registers.
template <class Reduction, class Arch>
[[nodiscard]] inline batch<Arch> reduce_array(float const* x, std::int64_t n) {
  constexpr int width = lanes<Arch>;
  constexpr int parts = 8;
  batch<Arch> part[parts];
#pragma GCC unroll 8
  for (int k = 0; k < parts; ++k) part[k] = batch<Arch>(Reduction::start);
  std::int64_t i = 0;
  for (; i + parts * width <= n; i += parts * width) {
    if (n >= large_array)
      for (int line = 0; line < parts * width; line += 16) prefetch(x + i + line + prefetch_distance);
#pragma GCC unroll 8
    for (int k = 0; k < parts; ++k) part[k] = Reduction::join(part[k], batch<Arch>::load_unaligned(x + i + k * width));
  }
  for (; i + width <= n; i += width) part[0] = Reduction::join(part[0], batch<Arch>::load_unaligned(x + i));
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    alignas(64) float last[width];
    for (int lane = 0; lane < width; ++lane) last[lane] = lane < rest ? x[i + lane] : Reduction::start;
    part[1] = Reduction::join(part[1], batch<Arch>::load_aligned(last));
  }
  auto const join = [&part](int a, int b, int c, int d) {
    return Reduction::join(Reduction::join(part[a], part[b]), Reduction::join(part[c], part[d]));
  };
  return Reduction::join(join(0, 4, 2, 6), join(1, 5, 3, 7));
}

/// y[column] (or y[column] +=, if Accumulate) = scale * the reduction of that column. Threads share the columns.
template <class Reduction, int Rows, int Columns, bool Accumulate, class Arch>
inline void reduce_columns(float const* x, float* y, float scale, share part) {
  constexpr int width = lanes<Arch>;
  constexpr int registers = 4;  // so many columns of batches at once: their sums do not wait for each other
  auto const columns = part.of(Columns, 16);
  auto const store = [&](batch<Arch> value, float* to, int count) {
    value = value * batch<Arch>(scale);
    if constexpr (Accumulate) value = value + load_first<Arch>(to, count);
    store_first(value, to, count);
  };
  std::int64_t column = columns.first;
  for (; column + registers * width <= columns.last; column += registers * width) {
    batch<Arch> sum[registers];
#pragma GCC unroll 4
    for (int k = 0; k < registers; ++k) sum[k] = batch<Arch>::load_unaligned(x + column + k * width);
    for (std::int64_t row = 1; row < Rows; ++row)
#pragma GCC unroll 4
      for (int k = 0; k < registers; ++k)
        sum[k] = Reduction::join(sum[k], batch<Arch>::load_unaligned(x + row * Columns + column + k * width));
#pragma GCC unroll 4
    for (int k = 0; k < registers; ++k) store(sum[k], y + column + k * width, width);
  }
  for (; column < columns.last; column += width) {
    int const count = static_cast<int>(columns.last - column < width ? columns.last - column : width);
    batch<Arch> sum = load_first<Arch>(x + column, count);
    for (std::int64_t row = 1; row < Rows; ++row)
      sum = Reduction::join(sum, load_first<Arch>(x + row * Columns + column, count));
    store(sum, y + column, count);
  }
}

/// y[row] = scale * the reduction of that row. Threads share the rows.
template <class Reduction, int Rows, int Columns, class Arch>
inline void reduce_rows(float const* x, float* y, float scale, share part) {
  auto const rows = part.of(Rows, 16);
  for (std::int64_t row = rows.first; row < rows.last; ++row)
    y[row] = scale * Reduction::of_lanes(reduce_array<Reduction, Arch>(x + row * Columns, Columns));
}

}  // namespace detail

/// The sum of n floats.
template <class Arch = default_architecture>
[[nodiscard]] inline float sum(float const* x, std::int64_t n) {
  return horizontal_sum(detail::reduce_array<detail::sum_of_batches<Arch>, Arch>(x, n));
}

/// The mean of n floats; NaN if there are none.
template <class Arch = default_architecture>
[[nodiscard]] inline float mean(float const* x, std::int64_t n) {
  return sum<Arch>(x, n) / static_cast<float>(n);
}

/// The largest of n floats: -inf if there are none, NaN if one is NaN.
template <class Arch = default_architecture>
[[nodiscard]] inline float largest(float const* x, std::int64_t n) {
  using reduction = detail::maximum_of_batches<Arch>;
  return reduction::of_lanes(detail::reduce_array<reduction, Arch>(x, n));
}

/// y[row] = the sum of that row of a (Rows, Columns) matrix. Threads share the rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void sums_of_rows(float const* x, float* y, share part = {}) {
  detail::reduce_rows<detail::sum_of_batches<Arch>, Rows, Columns, Arch>(x, y, 1.0F, part);
}

/// y[row] = the mean of that row.
template <int Rows, int Columns, class Arch = default_architecture>
inline void means_of_rows(float const* x, float* y, share part = {}) {
  detail::reduce_rows<detail::sum_of_batches<Arch>, Rows, Columns, Arch>(x, y, 1.0F / Columns, part);
}

/// y[row] = the largest of that row, NaN if one is NaN.
template <int Rows, int Columns, class Arch = default_architecture>
inline void maxima_of_rows(float const* x, float* y, share part = {}) {
  detail::reduce_rows<detail::maximum_of_batches<Arch>, Rows, Columns, Arch>(x, y, 1.0F, part);
}

/// y[column] = the sum of that column of a (Rows, Columns) matrix, added to y if Accumulate. Threads share the columns.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void sums_of_columns(float const* x, float* y, share part = {}) {
  detail::reduce_columns<detail::sum_of_batches<Arch>, Rows, Columns, Accumulate, Arch>(x, y, 1.0F, part);
}

/// y[column] = the mean of that column, added to y if Accumulate.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void means_of_columns(float const* x, float* y, share part = {}) {
  detail::reduce_columns<detail::sum_of_batches<Arch>, Rows, Columns, Accumulate, Arch>(x, y, 1.0F / Rows, part);
}

/// y[column] = the largest of that column, NaN if one is NaN.
template <int Rows, int Columns, class Arch = default_architecture>
inline void maxima_of_columns(float const* x, float* y, share part = {}) {
  detail::reduce_columns<detail::maximum_of_batches<Arch>, Rows, Columns, false, Arch>(x, y, 1.0F, part);
}

}  // namespace stagecraft::kernels
