// SPDX-License-Identifier: BSD-3-Clause
// What a product does with its sums before they leave the registers: it may add a bias or another tensor, and store
// them where a loop stacks them.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/plan/segments.hpp>

namespace stagecraft::operations {

/// A product and the operations that it carries out together with it; -1 where there is none.
struct product_join {
  int product = -1;
  int sum = -1;        ///< the map that adds something to the product: what is computed
  int added = -1;      ///< the tensor that is added: it has the product's shape, or is one row for all
  int read_from = -1;  ///< the tensor of all trips of which `added` is one trip, if nothing else reads it
  int stack = -1;      ///< the operation that stores the result for each trip of a loop

  /// True if the product carries out this operation.
  [[nodiscard]] constexpr bool does(int id) const {
    return id == sum || id == stack || (id == added && read_from >= 0);
  }
};

/// The joins of a step.
class product_joins {
 public:
  tracing::growing_array<product_join> joins;

  /// `is_free(id)` is true if no other step reads the value of an operation of this one.
  template <class IsFree>
  constexpr product_joins(operation_list const& list, tracing::growing_array<int> const& order,
                          tracing::growing_array<segment> const& segments, IsFree const& is_free)
      : list_(&list), readers_(list.nodes.size(), 0), positions_(list.nodes.size(), -1) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      positions_[order[i]] = static_cast<int>(i);
      auto const& here = list.node_of(order[i]);
      bool const is_group = here.what.is<composite>();
      auto const [first, end] = is_group ? operands_read_by(here) : operands_read{0, here.operand_count};
      for (int k = first; k < end; ++k) ++readers_[list.operand(order[i], k)];
    }
    for (segment const& part : segments) {
      if (part.kind == segment_kind::product) continue;
      for (int i = part.begin; i < part.end; ++i) {
        int const id = order[i];
        if (list.node_of(id).what.is<product>() && list.node_of(id).shape.rank == 2 && is_free(id))
          join(id, tracing::array_view<int const>(order).subspan(i + 1, part.end - i - 1), is_free);
      }
    }
  }

 private:
  /// `behind` lists the operations that follow the product in its segment.
  template <class IsFree>
  constexpr void join(int id, tracing::array_view<int const> behind, IsFree const& is_free) {
    product_join made{id};
    for (int const next : behind) {
      auto const& here = list_->node_of(next);
      if (here.what.is_any<loop, loop_end>()) break;
      int const result = made.sum >= 0 ? made.sum : id;
      if (made.sum < 0 && readers_[id] == 1) find_sum(made, next, is_free);
      if (here.what.is<stack>() && list_->operand(next, 1) == result && here.what.as<stack>().axis < 2)
        made.stack = next;
    }
    if (made.sum >= 0 || made.stack >= 0) joins.push_back(made);
  }
  template <class IsFree>
  constexpr void find_sum(product_join& made, int id, IsFree const& is_free) const {
    auto const& here = list_->node_of(id);
    auto const* what = here.what.if_is<map>();
    if (what == nullptr || what->apply != function::add) return;
    int const first = list_->operand(id, 0), second = list_->operand(id, 1);
    if (first != made.product && second != made.product) return;
    int const other = first == made.product ? second : first;
    auto const &shape = list_->node_of(made.product).shape, &added = list_->node_of(other).shape;
    bool const is_row = added.rank > 0 && added[-1] == shape[1] && added.size() == shape[1];
    if (here.shape != shape || (added != shape && !is_row) || !is_before(other, made.product)) return;
    made.sum = id;
    made.added = other;
    auto const* read = list_->node_of(other).what.if_is<operations::at>();
    if (read != nullptr && added == shape && read->axis < 2 && readers_[other] == 1 && is_free(other))
      made.read_from = list_->operand(other, 1);
  }
  /// True if a value exists when the product runs.
  [[nodiscard]] constexpr bool is_before(int id, int product) const {
    while (is_alias(list_->node_of(id).what) && positions_[id] >= 0) id = list_->operand(id, 0);
    return positions_[id] < positions_[product];
  }

  operation_list const* list_;
  tracing::growing_array<int> readers_, positions_;
};

}  // namespace stagecraft::operations
