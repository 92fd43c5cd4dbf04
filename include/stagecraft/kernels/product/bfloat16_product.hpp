// SPDX-License-Identifier: BSD-3-Clause
// Products of row-major matrices of floats whose sizes are known at run time only, rounded to bfloat16 where the
// processor multiplies pairs of them. Keras counterpart: tf.matmul after tf.cast to tf.bfloat16.
#pragma once

#include <stagecraft/kernels/product/bfloat16_pairs.hpp>
#include <stagecraft/kernels/product/product.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>
#include <stagecraft/threads/share.hpp>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

namespace detail {

/// The shape of the product of pairs.
[[nodiscard]] constexpr product_shape of_pairs(product_shape shape) {
  shape.inner = pairs_of(shape.inner);
  return shape;
}

/// The number of terms in `depth` pairs of a row from pair `first` on: the last pair may have a single term.
[[nodiscard]] constexpr int terms_of_pairs(int inner, int first, int depth) {
  return inner - 2 * first < 2 * depth ? inner - 2 * first : 2 * depth;
}

/// Pairs the terms of some rows that lie `distance` floats apart: `depth` pairs of each.
template <class Arch>
inline void pair_terms(float const* from, std::int64_t distance, int rows, int terms, int depth, float* to) {
  for (int row = 0; row < rows; ++row, from += distance, to += depth) {
    to[depth - 1] = 0.0F;
    narrow<dtype::bfloat16, Arch>(from, reinterpret_cast<std::uint16_t*>(to), terms);
  }
}

/// Packs the rows of a as pairs; if a is transposed, tile by tile like `pack_product_left`.
template <class Arch>
[[nodiscard]] [[gnu::noinline]] product_left<Arch> pair_product_left(product_shape const& shape, float const* a,
                                                                     int first, int depth, int row, int rows,
                                                                     float* packed) {
  constexpr int width = lanes<Arch>, tile_rows = product_tile_rows<Arch>;
  int const terms = terms_of_pairs(shape.inner, first, depth);
  if (!shape.transpose_a) {
    pair_terms<Arch>(a + static_cast<std::int64_t>(row) * shape.inner + 2 * first, shape.inner, rows, terms, depth,
                     packed);
    return {packed, depth, 1, 0};
  }
  std::int64_t const tile = packed_tile_floats<Arch>(depth);
  for (int k = 0; k < depth; ++k) {
    float const* const from = a + static_cast<std::int64_t>(2 * (first + k)) * shape.rows + row;
    bool const is_single = 2 * k + 1 == terms;
    for (int r = 0; r < rows; r += width) {
      int const count = rows - r < width ? rows - r : width;
      alignas(64) float pairs[width];
      pair_up<Arch>(load_first<Arch>(from + r, count),
                    is_single ? batch<Arch>(0.0F) : load_first<Arch>(from + shape.rows + r, count))
          .store_aligned(pairs);
      for (int i = 0; i < count; i += tile_rows)
        std::memcpy(packed + (r + i) / tile_rows * tile + k * tile_rows, pairs + i, tile_rows * sizeof(float));
    }
  }
  return {packed, 1, tile_rows, tile};
}

/// Packs pairs of rows of b from pair `first` on, along the columns from `column` on.
template <class Arch>
[[gnu::noinline]] void pair_product_panel(product_shape const& shape, float const* b, int first, int column,
                                          product_panel const& to, float* packed) {
  constexpr int width = lanes<Arch>;
  int const terms = terms_of_pairs(shape.inner, first, to.depth);
  for (int c = 0; c < to.columns; c += width) {
    int const count = to.columns - c < width ? to.columns - c : width;
    if (!shape.transpose_b) {
      for (int k = 0; k < to.depth; ++k) {
        float const* const from = b + static_cast<std::int64_t>(2 * (first + k)) * shape.columns + column + c;
        bool const is_single = 2 * k + 1 == terms;
        auto const load = [&](float const* row) {
          return count == width ? batch<Arch>::load_unaligned(row) : load_first<Arch>(row, count);
        };
        pair_up<Arch>(load(from), is_single ? batch<Arch>(0.0F) : load(from + shape.columns))
            .store_unaligned(packed + k * to.stride + c);
      }
      continue;
    }
    float const* const from = b + static_cast<std::int64_t>(column + c) * shape.inner + 2 * first;
    for (int k = 0; k < to.depth; k += width) {
      int const pairs = to.depth - k < width ? to.depth - k : width;
      alignas(64) float rows[width * width], turned[width * width];
      std::memset(rows, 0, sizeof rows);
      for (int i = 0; i < count; ++i) {
        alignas(64) std::uint16_t numbers[2 * width] = {};
        int const here = terms - 2 * k < 2 * pairs ? terms - 2 * k : 2 * pairs;
        narrow<dtype::bfloat16, Arch>(from + static_cast<std::int64_t>(i) * shape.inner + 2 * k, numbers, here);
        std::memcpy(rows + i * width, numbers, sizeof numbers);
      }
      transpose_block<Arch>(rows, width, width, turned, width);
      for (int i = 0; i < pairs; ++i)
        batch<Arch>::load_aligned(turned + i * width).store_unaligned(packed + (k + i) * to.stride + c);
    }
  }
}

/// The panels of b, like `panels_of_right`.
template <class Arch>
[[nodiscard]] inline auto pair_panels_of_right(product_shape const& shape, float const* b, float* workspace) {
  bool const keeps = shape.rows > product_rows_at_once;
  return [&shape, b, workspace, keeps](product_panel& panel, int first, int column, int row) {
    float* const packed = workspace + (keeps ? std::int64_t{column} * panel.depth : 0);
    if (row == 0) pair_product_panel<Arch>(shape, b, first, column, panel, packed);
    panel.begin = packed;
    if (row > 0) panel.next = packed + panel.depth * panel.stride;
  };
}

/// y = a b with panels that `fill` makes.
template <class Arch, class Fill>
inline void product_of_pair_panels(product_shape const& shape, float const* a, float* y, share const& columns,
                                   product_finish const& finish, Fill const& fill) {
  static_assert(multiplies_bfloat16_pairs<Arch>);
  alignas(64) float left[product_left_floats<Arch>];
  product_of_panels<Arch, bfloat16_pair_terms>(
      of_pairs(shape), y, columns, finish,
      [&](int first, int depth, int row, int rows) {
        return pair_product_left<Arch>(shape, a, first, depth, row, rows, left);
      },
      fill);
}

}  // namespace detail

/// Packs b like `pack_product`, into at most as many floats.
template <class Arch = default_architecture>
inline void pack_product_of_pairs(product_shape const& shape, float const* b, float* packed) {
  auto const pairs = detail::of_pairs(shape);
  for (int first = 0; first < pairs.inner; first += detail::product_depth)
    for (int column = 0; column < pairs.columns;) {
      auto const panel = detail::panel_of<Arch, detail::bfloat16_pair_terms>(pairs, first, column, pairs.columns);
      detail::pair_product_panel<Arch>(shape, b, first, column, panel,
                                       packed + detail::place_of_panel<Arch>(pairs, first, column, panel.depth));
      column += panel.columns;
    }
}
/// y = a b like `packed_product`, for a b that `pack_product_of_pairs` has packed.
template <class Arch = default_architecture>
inline void packed_product_of_pairs(product_shape const& shape, float const* a, float const* packed, float* y,
                                    float* /*workspace*/, product_finish const& finish = {}) {
  auto const pairs = detail::of_pairs(shape);
  detail::product_of_pair_panels<Arch>(
      shape, a, y, {}, finish, [&](detail::product_panel& panel, int first, int column, int /*row*/) {
        panel.begin = packed + detail::place_of_panel<Arch>(pairs, first, column, panel.depth);
        panel.next = panel.begin + panel.depth * panel.stride;
      });
}

/// y = a b like `product`, of operands rounded to bfloat16. `workspace` holds `product_workspace` floats.
template <class Arch = default_architecture>
inline void product_of_pairs(product_shape const& shape, float const* a, float const* b, float* y, float* workspace,
                             share const& columns = {}, product_finish const& finish = {}) {
  detail::product_of_pair_panels<Arch>(shape, a, y, columns, finish,
                                       detail::pair_panels_of_right<Arch>(shape, b, workspace));
}

/// The functions of such products, which replace those of floats.
template <class Arch = default_architecture>
inline constexpr product_functions<Arch> products_of_pairs{&product_of_pairs<Arch>, &pack_product_of_pairs<Arch>,
                                                           &packed_product_of_pairs<Arch>};
/// True if such products are faster, since rounding takes time, too. `is_packed`: b is packed once for several
/// products.
[[nodiscard]] constexpr bool gains_by_pairs(product_shape const& shape, bool is_packed) {
  return shape.inner >= 16 && (is_packed || shape.rows >= 8);
}

}  // namespace stagecraft::kernels
