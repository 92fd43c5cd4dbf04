// SPDX-License-Identifier: BSD-3-Clause
// The operations of a loop and the tensors that its step reads from outside; and sums over the trips that are computed
// after the loop: the gradients of weights.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations::detail {

/// Operations that belong to a loop, those of loops inside it excluded, and tensors that its step reads from outside.
struct loop_parts {
  tracing::growing_array<int> carries, nexts, reads, stacks, outside;

  /// `wanted(id)` says whether the gradient of an operation is needed.
  template <class Wanted>
  constexpr loop_parts(operation_list const& list, int begin, int end, Wanted const& wanted) {
    for (int id = begin + 1; id < end; ++id) {
      auto const& here = list.node_of(id);
      bool const is_own = here.operand_count > 0 && list.operand(id, 0) == begin;
      if (is_own && here.what.is<carry>()) carries.push_back(id);
      if (is_own && here.what.is<next>()) nexts.push_back(id);
      if (is_own && here.what.is<at>()) reads.push_back(id);
      if (is_own && here.what.is<stack>()) stacks.push_back(id);
      if (is_own) continue;
      for (int i = 0; i < here.operand_count; ++i) note_outside(list.operand(id, i), begin, wanted);
    }
    for (int const id : nexts) note_outside(list.operand(id, 2), begin, wanted);
    for (int const id : stacks) note_outside(list.operand(id, 1), begin, wanted);
  }

 private:
  template <class Wanted>
  constexpr void note_outside(int id, int begin, Wanted const& wanted) {
    if (id >= begin || !wanted(id)) return;
    for (int const known : outside)
      if (known == id) return;
    outside.push_back(id);
  }
};

/// Computes sums over the trips of a loop after the loop: the gradients of weights. Where each trip adds a product over
/// its samples, or a sum over them, one product or sum over those of all trips costs less, and the trips then work on
/// each sample by itself. The loop stacks the operands.
class loop_sums {
 public:
  /// The order in which the operands are stacked: (samples, trips, ...), the first trip last.
  static constexpr operations::stack where{1, true};

  constexpr loop_sums(tracer& ops, tensor loop) : ops_(&ops), loop_(loop) {}

  /// Called inside the loop. Returns true if the sum of `id` over all trips can be computed after the loop, by
  /// `sum(id)`.
  constexpr bool prepare(int id) {
    if (!is_possible(id)) return false;
    stack_operands(id);
    return true;
  }
  /// Called inside the loop. Stacks x of all trips.
  constexpr tensor stacked(tensor x) {
    for (auto const& [of, known] : stacks_)
      if (of == x.id) return {x.list, known};
    auto const* read = x.node().what.if_is<operations::at>();
    bool const is_stacked = read != nullptr && x.list->operand(x.id, 0) == loop_.id && read->axis == where.axis &&
                            read->reversed == where.reversed;
    tensor all{x.list, -1};
    all.id = is_stacked ? x.list->operand(x.id, 1) : ops_->stack(loop_, x, where).id;
    stacks_.push_back({x.id, all.id});
    return all;
  }
  /// Called after the loop. Returns the sum of `id` over all trips.
  constexpr tensor sum(int id) {
    node const here = list().node_of(id);  // a copy: the list grows
    if (here.what.is<product>())
      return ops_->append(here.what, here.shape, {rows_of(operand(id, 0)).id, rows_of(operand(id, 1)).id});
    if (auto const* what = here.what.if_is<reduce>()) {
      tensor const all = stacked(operand(id, 0));
      reduce over{what->by, 3U};  // samples and trips; later axes are one further
      for (int axis = 1; axis < here.shape.rank; ++axis)
        if (what->has(axis)) over.axes |= 2U << axis;
      return ops_->reshape(ops_->append(over, over.out(all.shape()), {all.id}), here.shape);
    }
    tracing::growing_array<int> sums;
    for (int i = 0; i < here.operand_count; ++i) sums.push_back(sum(list().operand(id, i)).id);
    return {&list(), list().append(here.what, here.shape, sums)};
  }

 private:
  struct known_stack {
    int of, stack;
  };

  [[nodiscard]] constexpr operation_list& list() const { return ops_->list(); }
  [[nodiscard]] constexpr tensor operand(int id, int index) const { return {&list(), list().operand(id, index)}; }
  [[nodiscard]] constexpr bool is_inside(tensor x) const { return x.id > loop_.id; }
  [[nodiscard]] constexpr bool is_possible(int id) const {
    if (id <= loop_.id) return false;
    node const& here = list().node_of(id);
    if (auto const* what = here.what.if_is<product>())
      return here.shape.rank == 2 && what->transpose_a && !what->transpose_b && is_inside(operand(id, 0)) &&
             is_inside(operand(id, 1));
    if (auto const* what = here.what.if_is<reduce>())
      return what->by == reduction::sum && what->has(0) && here.shape.rank < extents::max_rank &&
             is_inside(operand(id, 0));
    if (auto const* what = here.what.if_is<map>())
      return what->apply == function::add && operand(id, 0).shape() == here.shape &&
             operand(id, 1).shape() == here.shape && is_possible(list().operand(id, 0)) &&
             is_possible(list().operand(id, 1));
    bool is_moved = here.what.is_any<reshape, transpose, slice, pad, broadcast, concatenate>();
    for (int i = 0; i < here.operand_count; ++i) is_moved = is_moved && is_possible(list().operand(id, i));
    return is_moved;
  }
  constexpr void stack_operands(int id) {
    node const here = list().node_of(id);
    bool const is_sum = here.what.is_any<product, reduce>();
    for (int i = 0; i < here.operand_count; ++i)
      if (is_sum)
        stacked(operand(id, i));
      else
        stack_operands(list().operand(id, i));
  }
  /// The rows of x in all trips.
  constexpr tensor rows_of(tensor x) {
    tensor const all = stacked(x);
    extents const shape = all.shape();
    return ops_->reshape(all, {shape[0] * shape[1], shape[2]});
  }

  tracer* ops_;
  tensor loop_;
  tracing::growing_array<known_stack> stacks_;
};

}  // namespace stagecraft::operations::detail
