// SPDX-License-Identifier: BSD-3-Clause
// Softmax over the last axis of a row-major matrix, and along another axis, vectorised over the axes after it; and its
// gradients. Keras counterparts: tf.keras.activations.softmax, tf.keras.layers.Softmax(axis).
#pragma once

#include <stagecraft/kernels/simd/math.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_reduction.hpp>
#include <stagecraft/threads/share.hpp>
#include <concepts>
#include <cstdint>
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

/// True if three such matrices stay in the second-level cache, where prefetching the next rows helps. From further away
/// the processor fetches them sooner by itself.
template <int Rows, int Columns>
inline constexpr bool is_near = std::int64_t{3} * Rows * Columns <= 1 << 16;

/// Rows up to this length are taken `lanes` at a time: then the sums over their lanes cost little.
template <class Arch>
inline constexpr int longest_narrow_row = 8 * lanes<Arch>;

/// Prefetches the rows that are `lanes` rows after the given ones.
template <class Arch, std::same_as<float const*>... Rows>
inline void prefetch_rows_after_block(int columns, Rows... rows) {
  for (int i = 0; i < columns; i += 16) (prefetch(rows + lanes<Arch> * columns + i), ...);
}

/// Writes e^(x - shift) of a narrow row to whole registers, 0 after its end, and returns their sum.
template <int Columns, class Arch>
[[nodiscard]] inline batch<Arch> exponentials_of_row(float const* x, float shift, float* to) {
  constexpr int width = lanes<Arch>;
  constexpr int before = (Columns - 1) / width * width;  // the last batch begins here
  constexpr int paired = before / (2 * width) * (2 * width);
  constexpr int last = Columns - before;
  using value = batch<Arch>;
  value const largest(shift);
  // After the end, a table returns e^-inf = 0 as quickly as other values. Without a table, only numbers near 0 are
  // quick.
  constexpr bool has_zeros = has_avx512<Arch>;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  auto const within = [](value const& all) { return has_zeros ? all : keep_first(all, last); };
  value one[1] = {load_lanes_or<last, Arch>(x + before, has_zeros ? lowest : shift) - largest};
  if constexpr (before > paired) {
    value two[2] = {value::load_unaligned(x + paired) - largest, one[0]};
    exp_each(two);
    two[0].store_aligned(to + paired);
    one[0] = within(two[1]);
    one[0].store_aligned(to + before);
    one[0] = one[0] + two[0];
  } else {
    exp_each(one);
    one[0] = within(one[0]);
    one[0].store_aligned(to + before);
  }
  for (int i = 0; i < paired; i += 2 * width) {
    value two[2] = {value::load_unaligned(x + i) - largest, value::load_unaligned(x + i + width) - largest};
    exp_each(two);
    two[0].store_aligned(to + i);
    two[1].store_aligned(to + i + width);
    one[0] = one[0] + two[0] + two[1];
  }
  return one[0];
}

/// Softmax of up to `lanes` narrow rows.
template <int Columns, class Arch>
inline void softmax_narrow_rows(float const* x, float* y, int rows) {
  constexpr int width = lanes<Arch>;
  constexpr int batches = (Columns + width - 1) / width;
  constexpr int before = (batches - 1) * width;  // the last batch begins here
  constexpr int last = Columns - before;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  alignas(64) float of_row[width];
  batch<Arch> joined[width];
  for (int row = 0; row < rows; ++row) {
    float const* const from = x + row * Columns;
    batch<Arch> largest = load_lanes_or<last, Arch>(from + before, lowest);
    for (int i = 0; i < before; i += width) largest = xsimd::max(largest, batch<Arch>::load_unaligned(from + i));
    joined[row] = largest;
  }
  for (int row = rows; row < width; ++row) joined[row] = batch<Arch>(0.0F);
  horizontal_maxima<Arch>(joined).store_aligned(of_row);
  alignas(64) float exponentials[width * batches * width];
  for (int row = 0; row < rows; ++row) {
    prefetch_rows_after_block<Arch>(Columns, x + row * Columns, static_cast<float const*>(y + row * Columns));
    joined[row] =
        exponentials_of_row<Columns, Arch>(x + row * Columns, of_row[row], exponentials + row * batches * width);
  }
  (batch<Arch>(1.0F) / horizontal_sums<Arch>(joined)).store_aligned(of_row);
  for (int row = 0; row < rows; ++row) {
    float const* const from = exponentials + row * batches * width;
    float* const to = y + row * Columns;
    batch<Arch> const scale(of_row[row]);
    for (int i = 0; i < before; i += width) (batch<Arch>::load_aligned(from + i) * scale).store_unaligned(to + i);
    if (row + 1 < rows && before + width <= 2 * Columns)
      (batch<Arch>::load_aligned(from + before) * scale).store_unaligned(to + before);
    else
      store_lanes<last>(batch<Arch>::load_aligned(from + before) * scale, to + before);
  }
}

/// Softmax of one long row; prefetches the row at `next` meanwhile.
template <int Columns, class Arch>
inline void softmax_wide_row(float const* x, float* y, float const* next) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int rest = Columns - whole;
  constexpr float lowest = -std::numeric_limits<float>::infinity();
  batch<Arch> const shift(row_max<Columns, Arch>(x));
  batch<Arch> sum(0.0F);
  constexpr int blocks = whole / (4 * width) * (4 * width);
  for (int i = 0; i < blocks; i += 4 * width) {
    batch<Arch> values[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      prefetch(next + i + k * width);
      values[k] = batch<Arch>::load_unaligned(x + i + k * width) - shift;
    }
    exp_each(values);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      sum = sum + values[k];
      values[k].store_unaligned(y + i + k * width);
    }
  }
  for (int i = blocks; i < whole; i += width) {
    prefetch(next + i);
    batch<Arch> const value = kernels::exp(batch<Arch>::load_unaligned(x + i) - shift);
    sum = sum + value;
    value.store_unaligned(y + i);
  }
  if constexpr (rest > 0) {
    batch<Arch> const value = kernels::exp(load_lanes_or<rest, Arch>(x + whole, lowest) - shift);
    sum = sum + value;
    store_lanes<rest>(value, y + whole);
  }
  batch<Arch> const scale(1.0F / horizontal_sum(sum));
  transform<Arch>(Columns, [scale](batch<Arch> const& v) { return v * scale; }, y, static_cast<float const*>(y));
}

/// The gradient of up to `lanes` narrow rows.
template <int Columns, bool Accumulate, class Arch>
inline void softmax_gradient_narrow_rows(float const* y, float const* dy, float* dx, int rows) {
  constexpr int width = lanes<Arch>;
  constexpr int before = (Columns - 1) / width * width;
  constexpr int last = Columns - before;
  alignas(64) float dots[width];
  batch<Arch> joined[width];
  for (int row = 0; row < rows; ++row) {
    int const first = row * Columns;
    batch<Arch> dot = load_lanes<last, Arch>(y + first + before) * load_lanes<last, Arch>(dy + first + before);
    for (int i = first; i < first + before; i += width)
      dot = fused_multiply_add(batch<Arch>::load_unaligned(y + i), batch<Arch>::load_unaligned(dy + i), dot);
    joined[row] = dot;
  }
  for (int row = rows; row < width; ++row) joined[row] = batch<Arch>(0.0F);
  horizontal_sums<Arch>(joined).store_aligned(dots);
  for (int row = 0; row < rows; ++row) {
    int const first = row * Columns;
    prefetch_rows_after_block<Arch>(Columns, y + first, dy + first, static_cast<float const*>(dx + first));
    batch<Arch> const dot(dots[row]);
    for (int i = first; i < first + before; i += width) {
      batch<Arch> value = batch<Arch>::load_unaligned(y + i) * (batch<Arch>::load_unaligned(dy + i) - dot);
      if constexpr (Accumulate) value = value + batch<Arch>::load_unaligned(dx + i);
      value.store_unaligned(dx + i);
    }
    int const i = first + before;
    batch<Arch> value = load_lanes<last, Arch>(y + i) * (load_lanes<last, Arch>(dy + i) - dot);
    if constexpr (Accumulate) value = value + load_lanes<last, Arch>(dx + i);
    store_lanes<last>(value, dx + i);
  }
}

/// The gradient of one long row. If IsNear, it prefetches the next row meanwhile.
template <int Columns, bool Accumulate, bool IsNear, class Arch>
inline void softmax_gradient_wide_row(float const* y, float const* dy, float* dx) {
  using value = batch<Arch>;
  value const dot(transform_sum<Arch>(Columns, [](value const& a, value const& b) { return a * b; }, y, dy));
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  for (int i = 0; i < whole; i += width) {
    if constexpr (IsNear) {
      prefetch(y + Columns + i);
      prefetch(dy + Columns + i);
    }
    value slope = value::load_unaligned(y + i) * (value::load_unaligned(dy + i) - dot);
    if constexpr (Accumulate) slope = slope + value::load_unaligned(dx + i);
    slope.store_unaligned(dx + i);
  }
  if constexpr (constexpr int rest = Columns - whole; rest > 0) {
    value slope = load_lanes<rest, Arch>(y + whole) * (load_lanes<rest, Arch>(dy + whole) - dot);
    if constexpr (Accumulate) slope = slope + load_lanes<rest, Arch>(dx + whole);
    store_lanes<rest>(slope, dx + whole);
  }
}

}  // namespace detail

/// y = exp(x - max x) / sum exp(x - max x) along the rows of a (Rows, Columns) matrix. y may be x. A NaN or +inf in x
/// makes its whole row NaN. Threads share the rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void softmax(float const* x, float* y, share part = {}) {
  if constexpr (Columns <= detail::longest_narrow_row<Arch>) {
    auto const rows = part.of(Rows, 16);  // whole blocks of rows end at cache lines
    for (std::int64_t row = rows.first; row < rows.last; row += lanes<Arch>)
      detail::softmax_narrow_rows<Columns, Arch>(
          x + row * Columns, y + row * Columns,
          static_cast<int>(rows.last - row < lanes<Arch> ? rows.last - row : lanes<Arch>));
  } else {
    auto const rows = part.of(Rows);
    for (std::int64_t row = rows.first; row < rows.last; ++row)
      detail::softmax_wide_row<Columns, Arch>(x + row * Columns, y + row * Columns,
                                              x + (row + 1 < rows.last ? row + 1 : row) * Columns);
  }
}

/// dx = y * (dy - sum(y * dy)) along the rows, added to dx if Accumulate. Without Accumulate dx may be dy. Threads
/// share the rows.
template <int Rows, int Columns, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_gradient(float const* y, float const* dy, float* dx, share part = {}) {
  if constexpr (Columns <= detail::longest_narrow_row<Arch>) {
    auto const rows = part.of(Rows, 16);
    for (std::int64_t row = rows.first; row < rows.last; row += lanes<Arch>)
      detail::softmax_gradient_narrow_rows<Columns, Accumulate, Arch>(
          y + row * Columns, dy + row * Columns, dx + row * Columns,
          static_cast<int>(rows.last - row < lanes<Arch> ? rows.last - row : lanes<Arch>));
  } else {
    auto const rows = part.of(Rows);
    for (std::int64_t row = rows.first; row < rows.last; ++row)
      detail::softmax_gradient_wide_row<Columns, Accumulate, detail::is_near<Rows, Columns>, Arch>(
          y + row * Columns, dy + row * Columns, dx + row * Columns);
  }
}

namespace detail {

/// Calls function.operator()<Count>(begin) for each of this thread's registers of Count neighbouring columns of the
/// (Outer, Length, Inner) tensor; `begin` is their place in its first plane.
template <int Outer, int Length, int Inner, class Arch, class Function>
inline void for_softmax_columns(share part, Function const& function) {
  constexpr int whole = Inner / lanes<Arch>;
  constexpr int rest = Inner - whole * lanes<Arch>;
  constexpr int registers = whole + (rest > 0 ? 1 : 0);
  auto const [first, last] = part.of(static_cast<std::int64_t>(Outer) * registers);
  for (std::int64_t item = first; item < last; ++item) {
    std::int64_t const begin = item / registers * Length * Inner + item % registers * lanes<Arch>;
    if (rest == 0 || item % registers < whole) {
      if constexpr (whole > 0) function.template operator()<lanes<Arch>>(begin);
    } else if constexpr (rest > 0) {
      function.template operator()<rest>(begin);
    }
  }
}

}  // namespace detail

/// y = softmax(x) along the middle axis of an (Outer, Length, Inner) tensor. y may be x. A NaN or +inf in x makes all
/// that is summed with it NaN. Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, class Arch = default_architecture>
inline void softmax_planes(float const* x, float* y, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    float const* const from = x + begin;
    float* const to = y + begin;
    value largest(-std::numeric_limits<float>::infinity());
    for (std::int64_t i = 0; i < Length; ++i) largest = xsimd::max(largest, load_lanes<Count, Arch>(from + i * Inner));
    value sum(0.0F);
    for (std::int64_t i = 0; i < Length; ++i) {
      value const exponential = xsimd::exp(load_lanes<Count, Arch>(from + i * Inner) - largest);
      sum = sum + exponential;
      store_lanes<Count>(exponential, to + i * Inner);
    }
    value const scale = value(1.0F) / sum;
    for (std::int64_t i = 0; i < Length; ++i)
      store_lanes<Count>(load_lanes<Count, Arch>(to + i * Inner) * scale, to + i * Inner);
  });
}

/// dx = y * (dy - sum(y * dy)) along the middle axis, added to dx if Accumulate. Without Accumulate dx may be dy.
/// Items of `part`: registers of columns.
template <int Outer, int Length, int Inner, bool Accumulate = false, class Arch = default_architecture>
inline void softmax_planes_gradient(float const* y, float const* dy, float* dx, share part = {}) {
  using value = batch<Arch>;
  detail::for_softmax_columns<Outer, Length, Inner, Arch>(part, [&]<int Count>(std::int64_t begin) {
    value dot(0.0F);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner)
      dot = fused_multiply_add(load_lanes<Count, Arch>(y + i), load_lanes<Count, Arch>(dy + i), dot);
    for (std::int64_t i = begin; i < begin + static_cast<std::int64_t>(Length) * Inner; i += Inner) {
      value const difference = load_lanes<Count, Arch>(dy + i) - dot;
      value const p = load_lanes<Count, Arch>(y + i);
      if constexpr (Accumulate)
        store_lanes<Count>(fused_multiply_add(p, difference, load_lanes<Count, Arch>(dx + i)), dx + i);
      else
        store_lanes<Count>(p * difference, dx + i);
    }
  });
}

}  // namespace stagecraft::kernels
