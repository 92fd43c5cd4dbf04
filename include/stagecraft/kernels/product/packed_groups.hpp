// SPDX-License-Identifier: BSD-3-Clause
// Several packed matrices that stand side by side in one weight, such as the kernel of a grouped convolution.
#pragma once

#include <stagecraft/kernels/product/packed_matrix.hpp>

namespace stagecraft::kernels {

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

  /// Where element (row, column) lies.
  [[nodiscard]] static constexpr int index(int row, int column) noexcept {
    return column / matrix::columns * matrix::size + matrix::index(row, column % matrix::columns);
  }
  /// How many of the `width` floats from float i on are elements: those come first.
  [[nodiscard]] static constexpr int elements_from(std::int64_t i, int width) noexcept {
    return matrix::elements_from(i % matrix::size, width);
  }
};

}  // namespace stagecraft::kernels
