// SPDX-License-Identifier: BSD-3-Clause
// Products of row-major matrices whose sizes are known at run time only. Level 4.
#pragma once

#include <stagecraft/kernels/share.hpp>
#include <stagecraft/kernels/simd.hpp>
#include <stagecraft/kernels/transpose.hpp>
#include <cstdint>

namespace stagecraft::kernels {

/// Sizes of a product, and how its operands lie: y (rows x columns) = a (rows x inner) b (inner x columns).
struct product_shape {
  int rows = 0, inner = 0, columns = 0;
  bool transpose_a = false;  ///< a lies as inner x rows
  bool transpose_b = false;  ///< b lies as columns x inner
};

namespace detail {

/// How many terms of all sums are added before the next ones: the part of b that they read stays near the processor.
inline constexpr int product_depth = 256;
/// With fewer rows b is read where it lies.
inline constexpr int product_rows_worth_packing = 16;

/// A panel of b: `depth` rows of so many registers, the last of which may have fewer valid columns.
struct product_panel {
  float const* begin = nullptr;
  std::int64_t stride = 0;  ///< from one row to the next
  int depth = 0;
  int columns = 0;
};

/// Rows x Vectors registers of y. `adds`: to what is there.
template <int Rows, int Vectors, class Arch>
inline void product_tile(product_panel const& b, float const* a, std::int64_t row_step, std::int64_t inner_step,
                         float* y, std::int64_t y_stride, bool adds) {
  using value = batch<Arch>;
  constexpr int width = lanes<Arch>;
  int const rest = b.columns - (Vectors - 1) * width;
  auto const load = [rest](float const* from, int vector) {
    return vector + 1 < Vectors || rest >= width ? value::load_unaligned(from + vector * width)
                                                 : load_first<Arch>(from + vector * width, rest);
  };
  value sums[Rows][Vectors];
  for (int r = 0; r < Rows; ++r)
    for (int v = 0; v < Vectors; ++v) sums[r][v] = adds ? load(y + r * y_stride, v) : value(0.0F);
  for (int k = 0; k < b.depth; ++k) {
    value right[Vectors];
    for (int v = 0; v < Vectors; ++v) right[v] = load(b.begin + k * b.stride, v);
    for (int r = 0; r < Rows; ++r) {
      value const left(a[r * row_step + k * inner_step]);
      for (int v = 0; v < Vectors; ++v) sums[r][v] = fused_multiply_add(left, right[v], sums[r][v]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v + 1 < Vectors; ++v) sums[r][v].store_unaligned(y + r * y_stride + v * width);
    store_first<Arch>(sums[r][Vectors - 1], y + r * y_stride + (Vectors - 1) * width, rest < width ? rest : width);
  }
}

/// All rows of y, along the columns of a panel.
template <int Vectors, class Arch>
inline void product_rows(product_shape const& shape, product_panel const& b, float const* a, float* y, bool adds) {
  std::int64_t const row_step = shape.transpose_a ? 1 : shape.inner, inner_step = shape.transpose_a ? shape.rows : 1;
  int row = 0;
  auto const some = [&]<int Rows>() {
    for (; row + Rows <= shape.rows; row += Rows)
      product_tile<Rows, Vectors, Arch>(b, a + row * row_step, row_step, inner_step,
                                        y + static_cast<std::int64_t>(row) * shape.columns, shape.columns, adds);
  };
  some.template operator()<6>();
  some.template operator()<2>();
  some.template operator()<1>();
}

/// Rows [first, first + to.depth) of b, along the columns from `column` on, behind one another.
template <class Arch>
inline void pack_product_panel(product_shape const& shape, float const* b, int first, int column,
                               product_panel const& to, float* packed) {
  constexpr int width = lanes<Arch>;
  if (!shape.transpose_b) {
    for (int k = 0; k < to.depth; ++k)
      for (int c = 0; c < to.columns; c += width) {
        float const* const from = b + static_cast<std::int64_t>(first + k) * shape.columns + column + c;
        int const count = to.columns - c < width ? to.columns - c : width;
        load_first<Arch>(from, count).store_unaligned(packed + k * to.stride + c);
      }
    return;
  }
  for (int c = 0; c < to.columns; c += width) {
    int const count = to.columns - c < width ? to.columns - c : width;
    float const* const from = b + static_cast<std::int64_t>(column + c) * shape.inner + first;
    int k = 0;
    for (; k + width <= to.depth; k += width)
      transpose_block<Arch>(from + k, shape.inner, count, packed + k * to.stride + c, static_cast<int>(to.stride));
    for (; k < to.depth; ++k)
      for (int i = 0; i < width; ++i)
        packed[k * to.stride + c + i] = i < count ? from[static_cast<std::int64_t>(i) * shape.inner + k] : 0.0F;
  }
}

}  // namespace detail

/// Floats of workspace for a product.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::int64_t product_workspace(product_shape const& shape) {
  int const depth = shape.inner < detail::product_depth ? shape.inner : detail::product_depth;
  return std::int64_t{2} * lanes<Arch> * depth;
}

/// y = a b. `workspace` holds `product_workspace` floats. The terms of an element are added one after the other,
/// whatever share of the columns is computed.
template <class Arch = default_architecture>
inline void product(product_shape const& shape, float const* a, float const* b, float* y, float* workspace,
                    share const& columns = {}) {
  constexpr int width = 2 * lanes<Arch>;
  auto const part = columns.of(shape.columns, width);
  bool const packs = shape.transpose_b || shape.rows >= detail::product_rows_worth_packing;
  for (int first = 0; first < shape.inner; first += detail::product_depth) {
    float const* const left = a + (shape.transpose_a ? static_cast<std::int64_t>(first) * shape.rows : first);
    for (auto column = static_cast<int>(part.first); column < part.last; column += width) {
      int const depth = shape.inner - first, count = static_cast<int>(part.last) - column;
      detail::product_panel panel{b + static_cast<std::int64_t>(first) * shape.columns + column, shape.columns,
                                  depth < detail::product_depth ? depth : detail::product_depth,
                                  count < width ? count : width};
      if (packs) {
        panel.stride = width;
        panel.begin = workspace;
        detail::pack_product_panel<Arch>(shape, b, first, column, panel, workspace);
      }
      if (panel.columns > lanes<Arch>)
        detail::product_rows<2, Arch>(shape, panel, left, y + column, first > 0);
      else
        detail::product_rows<1, Arch>(shape, panel, left, y + column, first > 0);
    }
  }
}

}  // namespace stagecraft::kernels
