// SPDX-License-Identifier: BSD-3-Clause
// Products of row-major matrices whose sizes are known at run time only. Level 4.
#pragma once

#include <stagecraft/kernels/simd.hpp>
#include <cstdint>

namespace stagecraft::kernels {

/// Sizes of a product, and how its operands lie: y (rows x columns) = a (rows x inner) b (inner x columns).
struct product_shape {
  int rows = 0, inner = 0, columns = 0;
  bool transpose_a = false;  ///< a lies as inner x rows
  bool transpose_b = false;  ///< b lies as columns x inner

  /// Floats of workspace.
  [[nodiscard]] constexpr std::int64_t workspace() const {
    return transpose_b ? static_cast<std::int64_t>(inner) * columns : 0;
  }
};

namespace detail {

/// Rows x Vectors registers of y, from its column `column` on.
template <int Rows, int Vectors, class Arch>
inline void product_tile(product_shape const& shape, float const* a, float const* b, float* y, int column) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  std::int64_t const row_step = shape.transpose_a ? 1 : shape.inner, inner_step = shape.transpose_a ? shape.rows : 1;
  int const rest = shape.columns - column - (Vectors - 1) * width;
  value sums[Rows][Vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = value(0.0F);
  for (int k = 0; k < shape.inner; ++k) {
    float const* const from = b + static_cast<std::int64_t>(k) * shape.columns + column;
    value right[Vectors];
    for (int v = 0; v + 1 < Vectors; ++v) right[v] = value::load_unaligned(from + v * width);
    right[Vectors - 1] = rest >= width ? value::load_unaligned(from + (Vectors - 1) * width)
                                       : load_first<Arch>(from + (Vectors - 1) * width, rest);
    for (int r = 0; r < Rows; ++r) {
      value const left(a[r * row_step + k * inner_step]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = fused_multiply_add(left, right[v], sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    float* const to = y + static_cast<std::int64_t>(r) * shape.columns + column;
    for (int v = 0; v + 1 < Vectors; ++v) sums[r][v].store_unaligned(to + v * width);
    store_first<Arch>(sums[r][Vectors - 1], to + (Vectors - 1) * width, rest < width ? rest : width);
  }
}

template <int Rows, class Arch>
inline void product_rows(product_shape const& shape, float const* a, float const* b, float* y) {
  constexpr int width = lanes<Arch>;
  int column = 0;
  for (; column + width < shape.columns; column += 2 * width) product_tile<Rows, 2, Arch>(shape, a, b, y, column);
  if (column < shape.columns) product_tile<Rows, 1, Arch>(shape, a, b, y, column);
}

}  // namespace detail

/// y = a b. `workspace` holds `shape.workspace()` floats. The sums of an element are one after the other.
template <class Arch = default_architecture>
inline void product(product_shape const& shape, float const* a, float const* b, float* y, float* workspace) {
  if (shape.transpose_b) {
    for (int k = 0; k < shape.inner; ++k)
      for (int n = 0; n < shape.columns; ++n)
        workspace[static_cast<std::int64_t>(k) * shape.columns + n] = b[static_cast<std::int64_t>(n) * shape.inner + k];
    b = workspace;
  }
  std::int64_t const row_step = shape.transpose_a ? 1 : shape.inner;
  int row = 0;
  for (; row + 6 <= shape.rows; row += 6)
    detail::product_rows<6, Arch>(shape, a + row * row_step, b, y + static_cast<std::int64_t>(row) * shape.columns);
  for (; row + 2 <= shape.rows; row += 2)
    detail::product_rows<2, Arch>(shape, a + row * row_step, b, y + static_cast<std::int64_t>(row) * shape.columns);
  if (row < shape.rows)
    detail::product_rows<1, Arch>(shape, a + row * row_step, b, y + static_cast<std::int64_t>(row) * shape.columns);
}

}  // namespace stagecraft::kernels
