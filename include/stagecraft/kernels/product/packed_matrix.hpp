// SPDX-License-Identifier: BSD-3-Clause
// The memory layout of a dense layer's kernel: panels of a few registers' width, one after the other, so that a matrix
// product reads it front to back and needs no packing step; and of several such matrices side by side in one weight,
// such as the kernel of a grouped convolution.
#pragma once

#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <cstdint>

namespace stagecraft::kernels {

namespace detail {

/// Copies to and from a layout that has `rows`, `columns`, `size`, `index(row, column)` and `together(column)`: the
/// number of columns from this one on whose elements lie behind one another.
template <class Layout>
struct row_major_copies {
  /// Packs rows x columns floats, row by row, into `size` floats; the padding becomes 0.
  static constexpr void pack(float const* row_major, float* packed) noexcept {
    for (int i = 0; i < Layout::size; ++i) packed[i] = 0.0F;
    for (int column = 0; column < Layout::columns; column += Layout::together(column))
      for (int row = 0; row < Layout::rows; ++row) {
        float const* const from = row_major + row * Layout::columns + column;
        float* const to = packed + Layout::index(row, column);
        for (int i = 0; i < Layout::together(column); ++i) to[i] = from[i];
      }
  }

  /// Unpacks `size` packed floats into rows x columns floats, row by row.
  static constexpr void unpack(float const* packed, float* row_major) noexcept {
    for (int column = 0; column < Layout::columns; column += Layout::together(column))
      for (int row = 0; row < Layout::rows; ++row) {
        float const* const from = packed + Layout::index(row, column);
        float* const to = row_major + row * Layout::columns + column;
        for (int i = 0; i < Layout::together(column); ++i) to[i] = from[i];
      }
  }
};

}  // namespace detail

/// The layout of a Rows x Columns matrix (a dense kernel: inputs x units) in column panels.
///
/// Element (row, column) is the float at
/// `(column / panel_columns) * panel_stride + row * panel_columns + column % panel_columns`. The panel's width depends
/// on Columns and Arch only, never on the batch size: training and inference share one layout. Lanes after the last
/// column and floats after the last panel are padding. They are 0, and every kernel leaves them 0.
template <int Rows, int Columns, class Arch = default_architecture>
struct packed_matrix : detail::row_major_copies<packed_matrix<Rows, Columns, Arch>> {
  static_assert(Rows > 0 && Columns > 0);

  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  /// Columns of a panel: whole registers, as many as leave the least padding.
  static constexpr int panel_columns = detail::panel_vectors<Arch>(Columns) * lanes<Arch>;
  static constexpr int panels = (Columns + panel_columns - 1) / panel_columns;
  /// Floats from a panel to the next. A row of a panel follows the last one after `panel_columns` floats, a lane
  /// after 1.
  static constexpr int panel_stride = Rows * panel_columns;
  /// Floats in all, padding included: a multiple of 64.
  static constexpr int size = (panels * panel_stride + 63) / 64 * 64;

  /// The index of element (row, column).
  [[nodiscard]] static constexpr int index(int row, int column) noexcept {
    return column / panel_columns * panel_stride + row * panel_columns + column % panel_columns;
  }
  [[nodiscard]] static constexpr int together(int column) noexcept {
    int const of_panel = panel_columns - column % panel_columns, rest = columns - column;
    return of_panel < rest ? of_panel : rest;
  }
  /// The number of elements among the `width` floats from float i on; elements come first. `i` and `width` are
  /// multiples of a register's floats.
  [[nodiscard]] static constexpr int elements_from(std::int64_t i, int width) noexcept {
    if constexpr (panels * panel_columns == columns && panels * panel_stride == size) return width;
    auto const panel = static_cast<int>(i / panel_stride);
    if (panel >= panels) return 0;
    int const rest = columns - panel * panel_columns - static_cast<int>(i % panel_columns);
    return rest < width ? rest : width;
  }
};

/// The layout of a Rows x Columns matrix whose columns are Groups matrices side by side: one `packed_matrix` after the
/// other. Columns is a multiple of Groups.
template <int Rows, int Columns, int Groups, class Arch = default_architecture>
struct packed_groups : detail::row_major_copies<packed_groups<Rows, Columns, Groups, Arch>> {
  static_assert(Groups > 0 && Columns % Groups == 0);

  using matrix = packed_matrix<Rows, Columns / Groups, Arch>;
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  static constexpr int groups = Groups;
  /// Floats in all, padding included.
  static constexpr int size = Groups * matrix::size;

  /// The index of element (row, column).
  [[nodiscard]] static constexpr int index(int row, int column) noexcept {
    return column / matrix::columns * matrix::size + matrix::index(row, column % matrix::columns);
  }
  [[nodiscard]] static constexpr int together(int column) noexcept {
    return matrix::together(column % matrix::columns);
  }
  /// The number of elements among the `width` floats from float i on; elements come first.
  [[nodiscard]] static constexpr int elements_from(std::int64_t i, int width) noexcept {
    return matrix::elements_from(i % matrix::size, width);
  }
};

}  // namespace stagecraft::kernels
