// SPDX-License-Identifier: BSD-3-Clause
// Operations that compute nothing: they put elements elsewhere.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// The same elements in the same order, with other extents.
struct reshape {};

/// Repeats what is 1 long, or missing in front, as `map` does.
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

/// Every `step`-th element along an axis, from `begin` on; backwards, if it is negative. How many, its extents say.
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

/// Its operands one behind the other along an axis.
struct concatenate {
  int axis = 0;
};

/// Of a table and indices: the table's rows (places of axis 0) that the indices name, (indices..., row...). An index
/// outside of the table gives zeros.
struct gather {};

/// The gradient of `gather`: of rows and indices, a table of zeros to which each row is added where its index says.
struct scatter_add {};

}  // namespace stagecraft::operations
