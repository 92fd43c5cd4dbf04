// SPDX-License-Identifier: BSD-3-Clause
// Products of row-major matrices whose sizes are known at run time only.
#pragma once

#include <stagecraft/kernels/product/product_tile.hpp>
#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>
#include <stagecraft/threads/share.hpp>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stagecraft::kernels {

/// Sizes of a product and the layouts of its operands: y (rows x columns) = a (rows x inner) b (inner x columns).
struct product_shape {
  int rows = 0, inner = 0, columns = 0;
  bool transpose_a = false;  ///< a lies as inner x rows
  bool transpose_b = false;  ///< b lies as columns x inner
};

namespace detail {

/// Terms of all sums that are added before the next ones, so that the part of b that they read stays in the cache.
inline constexpr int product_depth = 256;
/// Rows of a that stay in the cache with `product_depth` terms: a multiple of a tile's rows.
inline constexpr int product_rows_at_once = 96;

/// The most rows of a that a tile two registers wide takes: they leave some registers for loads.
template <class Arch>
inline constexpr int product_tile_rows = has_avx512<Arch> ? 8 : 6;

/// Some rows of a, from one of them on. Rows of a transposed a are packed tile by tile: a row's next term is then
/// `product_tile_rows` floats further.
template <class Arch>
struct product_left {
  static constexpr int tile_rows = product_tile_rows<Arch>;

  float const* begin = nullptr;
  std::int64_t row_step = 0, inner_step = 1;
  std::int64_t tile = 0;  ///< floats from a tile of packed rows to the next; else 0

  [[nodiscard]] float const* row(int index) const {
    if (tile == 0) return begin + index * row_step;
    return begin + index / tile_rows * tile + index % tile_rows;
  }
};

/// Floats from a tile of packed rows to the next. All tiles are written side by side: they begin in different sets of
/// a cache.
template <class Arch>
[[nodiscard]] constexpr std::int64_t packed_tile_floats(int depth) {
  return std::int64_t{product_tile_rows<Arch>} * depth + 16;
}

/// Computes the first `rows` rows of y along the columns of a panel. It is compiled once, like the packing of panels:
/// inlined into each caller, GCC 12 keeps less of it in registers.
template <int Vectors, bool Whole, class Arch, class Terms>
[[gnu::noinline]] void product_rows(product_panel const& b, product_left<Arch> const& a, float* y,
                                    std::int64_t y_stride, int rows, bool adds, product_finish const& finish) {
  int row = 0;
  constexpr int line = 16;
  std::int64_t near = 0;
  auto const floats = b.next == nullptr ? 0 : b.depth * b.stride;
  auto const some = [&]<int Rows>(int end) {
    for (; row + Rows <= end; row += Rows, near += std::int64_t{line} * b.depth)
      product_tile<Rows, Vectors, Whole, Arch, Terms>(b, a.row(row), a.row_step, a.inner_step, y + row * y_stride,
                                                      y_stride, adds, finish.from(row, 0),
                                                      near < floats ? b.next + near : b.begin);
  };
  if constexpr (Vectors == 4) {
    some.template operator()<6>(rows);
  } else if constexpr (Vectors < 3) {
    // A tile of few rows takes as long as one of more. (Tiles of packed rows begin at their packed rows.)
    constexpr int most = product_tile_rows<Arch>, rest = most == 8 ? 4 : 2, low = most == 8 ? 6 : 4;
    bool const ends_low = a.tile == 0 && rows % most == rest && rows > most;
    some.template operator()<most>(ends_low ? rows - 2 * low : rows);
    if constexpr (low == 6) some.template operator()<low>(ends_low ? rows : 0);
  }
  some.template operator()<4>(rows);
  some.template operator()<2>(rows);
  some.template operator()<1>(rows);
}

/// Packs rows [first, first + to.depth) of b along the columns from `column` on, one after the other.
template <class Arch>
[[gnu::noinline]] void pack_product_panel(product_shape const& shape, float const* b, int first, int column,
                                          product_panel const& to, float* packed) {
  constexpr int width = lanes<Arch>;
  if (!shape.transpose_b) {
    for (int k = 0; k < to.depth; ++k) {
      float const* const from = b + static_cast<std::int64_t>(first + k) * shape.columns + column;
      float* const row = packed + k * to.stride;
      for (int c = 0; c < to.columns; c += 16) __builtin_prefetch(from + 16 * std::int64_t{shape.columns} + c);
      if (to.columns == to.stride) {
        for (int c = 0; c < to.columns; c += width) batch<Arch>::load_unaligned(from + c).store_unaligned(row + c);
        continue;
      }
      for (int c = 0; c < to.columns; c += width)
        load_first<Arch>(from + c, to.columns - c < width ? to.columns - c : width).store_unaligned(row + c);
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

/// The registers of a panel whose columns end at `rest`. With 32 registers, tiles of six rows and four registers read
/// least. With fewer, an odd number of registers ends in tiles of four rows and three registers, since one register
/// alone is read as often as two.
template <class Arch>
[[nodiscard]] constexpr int registers_of_panel(int rest) {
  constexpr int width = lanes<Arch>;
  if constexpr (has_avx512<Arch>) return rest >= 4 * width ? 4 : 2;
  return most_tile_rows<Arch>(3) >= 4 && rest > 2 * width && rest <= 3 * width ? 3 : 2;
}

/// True if panels of b are packed together: a panel's row is no longer than a line of a cache, and rows lie far apart,
/// so that each line of a panel alone would be waited for.
template <class Arch>
[[nodiscard]] constexpr bool packs_together(product_shape const& shape) {
  return lanes<Arch> <= 8 && !shape.transpose_b && shape.columns >= 256;
}
/// Packs the panels of two registers from `column` up to `end`, up to 128 columns; returns the column after the last.
template <class Arch>
[[gnu::noinline]] int pack_product_panels(product_shape const& shape, float const* b, int first, int column, int end,
                                          int depth, float* packed) {
  constexpr int width = lanes<Arch>, panel = 2 * width, most = 128;
  int count = 0;
  while (count < most && column + count + panel <= end && registers_of_panel<Arch>(end - column - count) == 2)
    count += panel;
  for (int k = 0; k < depth; ++k) {
    float const* const from = b + static_cast<std::int64_t>(first + k) * shape.columns + column;
    for (int c = 0; c < count; c += 16) __builtin_prefetch(from + 16 * std::int64_t{shape.columns} + c);
    float* to = packed + k * panel;
    for (int c = 0; c < count; c += panel, to += depth * panel) {
      batch<Arch>::load_unaligned(from + c).store_unaligned(to);
      batch<Arch>::load_unaligned(from + c + width).store_unaligned(to + width);
    }
  }
  return column + count;
}

/// Packs rows of a transposed a: `from` is the first term of the first of them, after which a's rows have `rows_behind`
/// floats.
template <class Arch>
[[nodiscard]] inline product_left<Arch> pack_product_left(product_shape const& shape, float const* from, int rows,
                                                          int depth, int rows_behind, float* packed) {
  // `copied` floats are as quick to copy as a tile's rows; the next term overwrites the surplus.
  constexpr int copied = 8, tile_rows = product_tile_rows<Arch>;
  int const last = rows_behind < copied ? 0 : rows_behind - copied + 1;
  int const quick = ((rows < last ? rows : last) + tile_rows - 1) / tile_rows * tile_rows;
  std::int64_t const tile = packed_tile_floats<Arch>(depth);
  for (int k = 0; k < depth; ++k, from += shape.rows) {
    for (int i = 0; i < rows; i += 16) __builtin_prefetch(from + 16 * std::int64_t{shape.rows} + i);
    float* to = packed + k * tile_rows;
    int row = 0;
    if (k + 1 < depth)
      for (; row < quick; row += tile_rows, to += tile) std::memcpy(to, from + row, copied * sizeof(float));
    for (; row < rows; row += tile_rows, to += tile)
      for (int r = 0; r < tile_rows && row + r < rows; ++r) to[r] = from[row + r];
  }
  return {packed, 1, tile_rows, tile};
}

/// True if rows of a are packed tile by tile: those of a transposed a, unless it is so narrow that its terms stay in
/// many sets of the caches.
template <class Arch, class Terms = float_terms>
[[nodiscard]] constexpr bool packs_left(product_shape const& shape) {
  constexpr int most = !std::is_same_v<Terms, float_terms> ? 0 : has_avx512<Arch> ? 256 : 128;
  return shape.transpose_a && shape.rows > most;
}

/// True if b is packed: many rows of y read it, or it is too large for a cache; with narrow registers, which read few
/// floats of a row at a time, also if all rows begin in the same sets of the first-level cache, or anywhere in a line.
template <class Arch>
[[nodiscard]] constexpr bool packs_right(product_shape const& shape) {
  constexpr std::int64_t most_near = 1 << 18;  // floats of a second-level cache
  if (shape.transpose_b) return true;
  if (std::int64_t{shape.inner} * shape.columns > most_near) return shape.rows > 15;
  if (has_avx512<Arch>) return shape.rows > 128;
  return shape.rows > (shape.columns % 512 == 0 ? 16 : shape.columns % lanes<Arch> != 0 ? 48 : 128);
}

/// A packed panel of b: the rows from `first` on, and the columns from `column` up to `end`.
template <class Arch, class Terms = float_terms>
[[nodiscard]] inline product_panel panel_of(product_shape const& shape, int first, int column, int end) {
  int const registers = packs_left<Arch, Terms>(shape) ? 2 : registers_of_panel<Arch>(end - column);
  int const width = registers * lanes<Arch>;
  int const depth = shape.inner - first < product_depth ? shape.inner - first : product_depth;
  return {nullptr, width, depth, end - column < width ? end - column : width, true, nullptr, end};
}
/// The begin of a panel in a packed b.
template <class Arch>
[[nodiscard]] inline std::int64_t place_of_panel(product_shape const& shape, int first, int column, int depth) {
  constexpr int width = 2 * lanes<Arch>;
  std::int64_t const columns = (shape.columns + width - 1) / width * width;
  return first * columns + std::int64_t{column} * depth;
}

/// Floats for the rows of a transposed a that are worked on.
template <class Arch>
[[nodiscard]] constexpr std::int64_t packed_left_floats(product_shape const& shape) {
  if (!packs_left<Arch>(shape)) return 0;
  return product_rows_at_once / product_tile_rows<Arch> *
         packed_tile_floats<Arch>(shape.inner < product_depth ? shape.inner : product_depth);
}

/// y = a b in blocks of Terms' terms. `fill(panel, first, column, row)` sets the place of a panel's elements for the
/// rows of y from `row` on, and `left(first, depth, row, rows)` returns that of a's elements.
template <class Arch, class Terms = float_terms, class Left, class Fill>
inline void product_of_panels(product_shape const& shape, float* y, share const& columns, product_finish const& finish,
                              Left const& left, Fill&& fill) {
  auto const part = columns.of(shape.columns, 2 * lanes<Arch>);
  for (int first = 0; first < shape.inner; first += product_depth) {
    int const depth = shape.inner - first < product_depth ? shape.inner - first : product_depth;
    for (int row = 0; row < shape.rows; row += product_rows_at_once) {
      int const rows = shape.rows - row < product_rows_at_once ? shape.rows - row : product_rows_at_once;
      product_left<Arch> const of_rows = left(first, depth, row, rows);
      float* const to = y + static_cast<std::int64_t>(row) * shape.columns;
      for (auto column = static_cast<int>(part.first); column < part.last;) {
        auto panel = panel_of<Arch, Terms>(shape, first, column, static_cast<int>(part.last));
        fill(panel, first, column, row);
        auto const end = first + depth < shape.inner ? product_finish{} : finish.from(row, column);
        auto const multiply = [&]<int Vectors>() {
          if (Vectors == 4 || panel.whole || panel.columns == Vectors * lanes<Arch>)
            product_rows<Vectors, true, Arch, Terms>(panel, of_rows, to + column, shape.columns, rows, first > 0, end);
          else if constexpr (Vectors < 4)
            product_rows<Vectors, false, Arch, Terms>(panel, of_rows, to + column, shape.columns, rows, first > 0, end);
        };
        if (panel.columns > 2 * lanes<Arch>)
          multiply.template operator()<has_avx512<Arch> ? 4 : 3>();
        else if (panel.columns > lanes<Arch>)
          multiply.template operator()<2>();
        else
          multiply.template operator()<1>();
        column += panel.columns;
      }
    }
  }
}

/// Floats for the rows that are worked on, and for a register after them.
template <class Arch>
inline constexpr int product_left_floats =
    product_rows_at_once / product_tile_rows<Arch> * static_cast<int>(packed_tile_floats<Arch>(product_depth));

/// The rows of a, packed if `packs_left` says so: `left_rows` has `packed_left_floats` floats.
template <class Arch>
[[nodiscard]] inline auto rows_of_left(product_shape const& shape, float const* a, float* left_rows) {
  return [&shape, a, left_rows](int first, int depth, int row, int rows) {
    if (shape.transpose_a) {
      float const* const begin = a + static_cast<std::int64_t>(first) * shape.rows + row;
      if (!packs_left<Arch>(shape)) return product_left<Arch>{begin, 1, shape.rows, 0};
      return pack_product_left<Arch>(shape, begin, rows, depth, shape.rows - row, left_rows);
    }
    return product_left<Arch>{a + static_cast<std::int64_t>(row) * shape.inner + first, shape.inner, 1, 0};
  };
}

/// The panels of b, packed if `packs_right` says so: just before their first rows, and overwritten after the last.
template <class Arch>
[[nodiscard]] inline auto panels_of_right(product_shape const& shape, float const* b, float* workspace) {
  bool const packs = packs_right<Arch>(shape), together = packs_together<Arch>(shape),
             keeps = together || shape.rows > product_rows_at_once;
  return [&shape, b, workspace, packs, together, keeps, packed_of = -1, packed_to = 0](product_panel& panel, int first,
                                                                                       int column, int row) mutable {
    if (packs) {
      float* const packed = workspace + (keeps ? std::int64_t{column} * panel.depth : 0);
      if (row == 0 && (first != packed_of || column >= packed_to)) {
        packed_of = first;
        packed_to = column;
        if (together) packed_to = pack_product_panels<Arch>(shape, b, first, column, panel.end, panel.depth, packed);
        if (packed_to == column) pack_product_panel<Arch>(shape, b, first, column, panel, packed);
      }
      panel.begin = packed;
      if (row > 0) panel.next = packed + panel.depth * panel.stride;
    } else {
      panel.begin = b + static_cast<std::int64_t>(first) * shape.columns + column;
      panel.stride = shape.columns;
      panel.whole = false;
    }
  };
}

}  // namespace detail

/// Floats of a packed b.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::int64_t packed_product_floats(product_shape const& shape) {
  constexpr int width = 2 * lanes<Arch>;
  return std::int64_t{shape.inner} * ((shape.columns + width - 1) / width * width);
}

/// Floats of workspace for a product.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::int64_t product_workspace(product_shape shape) {
  if (shape.inner > detail::product_depth) shape.inner = detail::product_depth;
  return packed_product_floats<Arch>(shape) + detail::packed_left_floats<Arch>(shape);
}

/// y = a b. `workspace` holds `product_workspace` floats. The terms of an element are added one after the other,
/// whatever share of the columns is computed.
template <class Arch = default_architecture>
inline void product(product_shape const& shape, float const* a, float const* b, float* y, float* workspace,
                    share const& columns = {}, product_finish const& finish = {}) {
  float* const left_rows = workspace + (product_workspace<Arch>(shape) - detail::packed_left_floats<Arch>(shape));
  detail::product_of_panels<Arch>(shape, y, columns, finish, detail::rows_of_left<Arch>(shape, a, left_rows),
                                  detail::panels_of_right<Arch>(shape, b, workspace));
}

/// Packs b for several products with it.
template <class Arch = default_architecture>
inline void pack_product(product_shape const& shape, float const* b, float* packed) {
  for (int first = 0; first < shape.inner; first += detail::product_depth)
    for (int column = 0; column < shape.columns;) {
      auto const panel = detail::panel_of<Arch>(shape, first, column, shape.columns);
      detail::pack_product_panel<Arch>(shape, b, first, column, panel,
                                       packed + detail::place_of_panel<Arch>(shape, first, column, panel.depth));
      column += panel.columns;
    }
}
/// y = a b for a packed b; the same bits. `workspace` holds `product_workspace` floats.
template <class Arch = default_architecture>
inline void packed_product(product_shape const& shape, float const* a, float const* packed, float* y, float* workspace,
                           product_finish const& finish = {}) {
  detail::product_of_panels<Arch>(shape, y, {}, finish, detail::rows_of_left<Arch>(shape, a, workspace),
                                  [&](detail::product_panel& panel, int first, int column, int /*row*/) {
                                    panel.begin =
                                        packed + detail::place_of_panel<Arch>(shape, first, column, panel.depth);
                                    panel.next = panel.begin + panel.depth * panel.stride;
                                  });
}

/// Products of one kind, as the functions above.
template <class Arch>
struct product_functions {
  void (*product)(product_shape const&, float const*, float const*, float*, float*, share const&,
                  product_finish const&) = &kernels::product<Arch>;
  void (*pack)(product_shape const&, float const*, float*) = &pack_product<Arch>;
  void (*packed)(product_shape const&, float const*, float const*, float*, float*,
                 product_finish const&) = &packed_product<Arch>;
};

}  // namespace stagecraft::kernels
