// SPDX-License-Identifier: BSD-3-Clause
// What belongs to a loop, and what its step reads from outside.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>

namespace stagecraft::operations {

namespace detail {

/// What belongs to one loop, and not to one inside it.
struct loop_parts {
  tracing::growing_array<int> carries, nexts, reads, stacks, outside;

  constexpr loop_parts(operation_list const& list, int begin, int end) {
    for (int id = begin + 1; id < end; ++id) {
      auto const& here = list.node_of(id);
      bool const is_own = here.operand_count > 0 && list.operand(id, 0) == begin;
      if (is_own && here.what.is<carry>()) carries.push_back(id);
      if (is_own && here.what.is<next>()) nexts.push_back(id);
      if (is_own && here.what.is<at>()) reads.push_back(id);
      if (is_own && here.what.is<stack>()) stacks.push_back(id);
      if (is_own) continue;
      for (int i = 0; i < here.operand_count; ++i) note_outside(list, list.operand(id, i), begin);
    }
    for (int const id : nexts) note_outside(list, list.operand(id, 2), begin);
    for (int const id : stacks) note_outside(list, list.operand(id, 1), begin);
  }

 private:
  constexpr void note_outside(operation_list const& list, int id, int begin) {
    if (id >= begin || !list.node_of(id).has_gradient) return;
    for (int const known : outside)
      if (known == id) return;
    outside.push_back(id);
  }
};

}  // namespace detail

}  // namespace stagecraft::operations
