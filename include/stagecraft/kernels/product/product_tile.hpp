// SPDX-License-Identifier: BSD-3-Clause
// A tile of a product in registers: its rows and registers are known, its panel's columns and depth at run time only.
#pragma once

#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <cstdint>

namespace stagecraft::kernels {

/// Rows of floats: the begin of the first, null if there are none, and the distance to the next.
struct product_rows_at {
  float* begin = nullptr;
  std::int64_t stride = 0;
};
/// The last steps on a product in registers: the same rows of another tensor are added, and the result is stored a
/// second time.
struct product_finish {
  product_rows_at added, copied;

  [[nodiscard]] product_finish from(int row, int column) const {
    product_finish result = *this;
    for (auto* one : {&result.added, &result.copied})
      if (one->begin != nullptr) one->begin += row * one->stride + column;
    return result;
  }
};

namespace detail {

/// A panel of b: `depth` rows of `stride` floats; only the first `columns` of a row are valid.
struct product_panel {
  float const* begin = nullptr;
  std::int64_t stride = 0;  ///< floats from one row to the next
  int depth = 0;
  int columns = 0;
  bool whole = false;           ///< true: all lanes of the last register can be read
  float const* next = nullptr;  ///< the panel that is read after this one; null if it is not known or does not lie yet
  int end = 0;                  ///< the column of b after the last one of these panels
};

/// Computes Rows x Vectors registers of y. `adds`: adds to y. `Whole` is that of the panel. `ahead` is read next: one
/// cache line of it is prefetched for each row of the panel.
template <int Rows, int Vectors, bool Whole, class Arch, class Terms>
inline void product_tile(product_panel const& b, float const* a, std::int64_t row_step, std::int64_t inner_step,
                         float* y, std::int64_t y_stride, bool adds, product_finish const& finish, float const* ahead) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>, line = 16;
  constexpr int before = (Vectors - 1) * width;  // columns of whole registers
  int const rest = b.columns - before < width ? b.columns - before : width;
  // It is evaluated once, not for each row. With AVX-512 a mask costs nothing.
  bool const is_full = !has_avx512<Arch> && rest == width;
  auto const load_last = [&](float const* row) __attribute__((always_inline)) {
    return is_full ? value::load_unaligned(row + before) : load_first<Arch>(row + before, rest);
  };
  value sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[r][v] = value(0.0F);
  if (adds) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v + 1 < Vectors; ++v) sums[r][v] = value::load_unaligned(y + r * y_stride + v * width);
      sums[r][Vectors - 1] = load_last(y + r * y_stride);
    }
  }
  // Rows lie far apart. The rows of the next tile are prefetched, and those that are added and stored at the end, some
  // at a time.

  auto const call_near = [](float const* row) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int column = 0; column < Vectors * width; column += line) __builtin_prefetch(row + column, 1);
  };
  constexpr int steps = 16;
  float const* from = b.begin;
  for (int k = 0, row = 0; k < b.depth; ++row) {
    if (row < Rows) {
      call_near(y + (adds ? Rows + row : row) * y_stride);
      if (finish.added.stride != 0) call_near(finish.added.begin + row * finish.added.stride);
      if (finish.copied.stride != 0) call_near(finish.copied.begin + row * finish.copied.stride);
    }
    int const end = b.depth - k < steps ? b.depth : k + steps;
    for (; k < end; ++k, from += b.stride, a += inner_step, ahead += line) {
      value right[Vectors];
      if constexpr (width == line) __builtin_prefetch(ahead);  // narrower panels are read slowly enough
#pragma GCC unroll 4
      for (int v = 0; v + 1 < Vectors; ++v) right[v] = load_once<Arch>(from + v * width);
      right[Vectors - 1] = Whole ? load_once<Arch>(from + before) : load_first<Arch>(from + before, rest);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        value const left(a[r * row_step]);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sums[r][v] = Terms::add(left, right[v], sums[r][v]);
      }
    }
  }
  auto const store = [&](product_rows_at const& to) __attribute__((always_inline)) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float* const row = to.begin + r * to.stride;
#pragma GCC unroll 4
      for (int v = 0; v + 1 < Vectors; ++v) sums[r][v].store_unaligned(row + v * width);
      if (is_full)
        sums[r][Vectors - 1].store_unaligned(row + before);
      else
        store_first<Arch>(sums[r][Vectors - 1], row + before, rest);
    }
  };
  if (finish.added.begin != nullptr) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      float const* const row = finish.added.begin + r * finish.added.stride;
#pragma GCC unroll 4
      for (int v = 0; v + 1 < Vectors; ++v) sums[r][v] = sums[r][v] + value::load_unaligned(row + v * width);
      sums[r][Vectors - 1] = sums[r][Vectors - 1] + load_last(row);
    }
  }
  store({y, y_stride});
  if (finish.copied.begin != nullptr) store(finish.copied);
}

}  // namespace detail

}  // namespace stagecraft::kernels
