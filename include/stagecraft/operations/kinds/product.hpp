// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices, one for each place of the axes before the last two.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// The operands of a product that are transposed, as in tf.linalg.matmul.
struct matmul_options {
  bool transpose_a = false;  ///< true: the last two axes of a are exchanged first
  bool transpose_b = false;  ///< true: the last two axes of b are exchanged first
};

/// The product a b over the last two axes, each operand transposed if its option says so; axes before them are
/// broadcast.
struct product {
  bool transpose_a = false;
  bool transpose_b = false;

  [[nodiscard]] constexpr int rows(extents const& a) const { return a[transpose_a ? -1 : -2]; }
  [[nodiscard]] constexpr int inner(extents const& a) const { return a[transpose_a ? -2 : -1]; }
  [[nodiscard]] constexpr int inner_of_b(extents const& b) const { return b[transpose_b ? -1 : -2]; }
  [[nodiscard]] constexpr int columns(extents const& b) const { return b[transpose_b ? -2 : -1]; }

  /// Sets `result`; returns false if the operands do not fit, or have fewer than two axes.
  constexpr bool out(extents const& a, extents const& b, extents& result) const {
    if (a.rank < 2 || b.rank < 2 || inner(a) != inner_of_b(b)) return false;
    extents places = a, others = b;
    places.rank -= 2;
    others.rank -= 2;
    if (!places.broadcast_with(others)) return false;
    places.push_back(rows(a));
    places.push_back(columns(b));
    result = places;
    return true;
  }
  /// Counts a multiplication and an addition for each term.
  [[nodiscard]] constexpr long long flops(extents const& a, extents const& out) const {
    return 2 * out.size() * inner(a);
  }
};

}  // namespace stagecraft::operations
