// SPDX-License-Identifier: BSD-3-Clause
// Operations that compute nothing: they move elements.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// Changes the extents; elements stay in their order.
struct reshape {};

/// Repeats the operand along axes of length 1, and along axes that it lacks in front, as `map` does.
struct broadcast {};

/// Axis i of the result is axis order[i] of the operand.
struct transpose {
  int order[extents::max_rank]{};

  [[nodiscard]] constexpr transpose inverse(int rank) const {
    transpose result;
    for (int i = 0; i < rank; ++i) result.order[order[i]] = i;
    return result;
  }
};

/// Every `step`-th element along an axis, from `begin` on; backwards if `step` is negative. The extents say how many.
struct slice {
  int axis = 0;
  int begin = 0;
  int step = 1;
};

/// The inverse of a slice: zeros, and the operand's elements from `begin` on at every `step`-th place.
struct pad {
  int axis = 0;
  int begin = 0;
  int step = 1;
};

/// Joins its operands one after the other along an axis.
struct concatenate {
  int axis = 0;
};

/// Operands: a table and indices. Returns the table's rows (places of axis 0) that the indices name, (indices...,
/// row...), and zeros for an index outside of the table.
struct gather {};

/// The gradient of `gather`. Operands: rows and indices. Each row is added to a table of zeros at its index.
struct scatter_add {};

}  // namespace stagecraft::operations
