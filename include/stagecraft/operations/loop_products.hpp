// SPDX-License-Identifier: BSD-3-Clause
// The products of a loop's step, which are kept so that the gradient does not compute them again.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>

namespace stagecraft::operations {

/// Finds the products of the open loop, or the sums that they go into; products of loops inside it are left out.
class loop_products {
 public:
  constexpr loop_products(operation_list const& list, int loop_id) : list_(&list) {
    int depth = 0;  // number of open loops inside this one
    for (int id = loop_id + 1, end = list.size(); id < end; ++id) {
      auto const& what = list.node_of(id).what;
      depth += (what.is<loop>() ? 1 : 0) - (what.is<loop_end>() ? 1 : 0);
      if (depth == 0 && what.is<product>()) sums.push_back(sum_with(id));
    }
  }

  tracing::growing_array<int> sums;

 private:
  /// The last of the sums through which alone `id` is read, or `id` itself.
  [[nodiscard]] constexpr int sum_with(int id) const {
    int reader = -1, readers = 0;
    for (int other = id + 1; other < list_->size(); ++other)
      for (int i = 0; i < list_->node_of(other).operand_count; ++i)
        if (list_->operand(other, i) == id) {
          reader = other;
          ++readers;
        }
    if (readers != 1 || list_->node_of(reader).shape != list_->node_of(id).shape) return id;
    auto const* what = list_->node_of(reader).what.if_is<map>();
    bool const is_sum = what != nullptr && (what->apply == function::add || what->apply == function::subtract);
    return is_sum ? sum_with(reader) : id;
  }

  operation_list const* list_;
};

}  // namespace stagecraft::operations
