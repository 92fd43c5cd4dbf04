// SPDX-License-Identifier: BSD-3-Clause
// Which operations depend on some tensors in a way that has a gradient.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <cstddef>

namespace stagecraft::operations::detail {

/// True if an operation has a gradient by one of its operands that `depends` marks with 1. An identity without a
/// gradient is a stop_gradient.
constexpr bool leads_on(operation_list const& list, int id, tracing::growing_array<char> const& depends) {
  node const& here = list.node_of(id);
  if (auto const* elementwise = here.what.if_is<map>())
    if (!is_differentiable(elementwise->apply) || (elementwise->apply == function::identity && !here.has_gradient))
      return false;
  for (int i = 0; i < here.operand_count; ++i)
    if (depends[list.operand(id, i)] != 0) return true;
  return false;
}

/// One number for each operation of [0, end): 1 if it is one of `sources` or depends on one.
constexpr tracing::growing_array<char> find_dependents(operation_list const& list,
                                                       tracing::array_view<int const> sources, int end) {
  tracing::growing_array<char> depends(static_cast<std::size_t>(end), 0);
  for (int const id : sources)
    if (id < end) depends[id] = 1;
  for (bool changed = true; changed;) {  // a state of a loop depends on its next value
    changed = false;
    for (int id = 0; id < end; ++id) {
      if (depends[id] == 0 && leads_on(list, id, depends)) depends[id] = 1;
      if (!list.node_of(id).what.is<next>() || depends[list.operand(id, 2)] == 0) continue;
      char& state = depends[list.operand(id, 1)];
      changed = changed || state == 0;
      state = 1;
    }
  }
  return depends;
}

}  // namespace stagecraft::operations::detail
