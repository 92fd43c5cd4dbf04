// SPDX-License-Identifier: BSD-3-Clause
// The gradient of a loop is a loop from the end: a trip computes the step again from the states that were kept, then
// the gradients of the step. Carried along are the gradients of the states, and the sums of those of what the step
// reads from outside. Level 1.
#pragma once

#include <stagecraft/operations/differentiation.hpp>

namespace stagecraft::operations {

namespace detail {

/// What belongs to one loop, and not to one inside it.
struct loop_parts {
  std::vector<int> carries, nexts, reads, stacks, outside;

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

constexpr void differentiation::differentiate_loop(int begin, int end) {
  detail::loop_parts const parts(list(), begin, end);
  auto const shape_of = [&](int id) { return list().node_of(id).shape; };
  bool reaches = false;
  for (int const id : parts.carries) reaches |= has(id);
  for (int const id : parts.stacks) reaches |= has(id);
  if (!reaches) return;

  std::vector<tensor> first_values;
  for (int const id : parts.carries) first_values.push_back(has(id) ? of(id) : ops_->full(shape_of(id), 0));
  for (int const id : parts.outside) first_values.push_back(ops_->full(shape_of(id), 0));
  tensor const loop = ops_->begin_loop(tracer::trips_of({&list(), begin}));
  std::vector<tensor> states;
  for (tensor const first : first_values) states.push_back(ops_->carry(loop, first));

  // The step once more. Stacks of the states, in the order of the states, stand first in the loop.
  std::vector<int> copies(static_cast<std::size_t>(end) + 1, -1);
  copies[static_cast<std::size_t>(begin)] = loop.id;
  auto const copy_of = [&](int id) { return id < begin ? id : copies[static_cast<std::size_t>(id)]; };
  auto const make = [&](int id, tensor copy) { copies[static_cast<std::size_t>(id)] = copy.id; };
  auto const is_own = [&](int id) { return list().node_of(id).operand_count > 0 && list().operand(id, 0) == begin; };
  int const body = list().size();
  std::size_t state = 0;
  for (int id = begin + 1; id < end; ++id) {
    node const original = list().node_of(id);
    if (is_own(id) && original.what.is<carry>()) {
      int const kept = parts.stacks[state++];
      auto const where = list().node_of(kept).what.as<operations::stack>();
      make(id, ops_->at(loop, {&list(), kept}, {where.axis, !where.reversed}));
    } else if (is_own(id) && original.what.is<operations::at>()) {
      auto const where = original.what.as<operations::at>();
      make(id, ops_->at(loop, operand(id, 1), {where.axis, !where.reversed}));
    } else if (!is_own(id)) {
      std::vector<int> reads;
      for (int i = 0; i < original.operand_count; ++i) reads.push_back(copy_of(list().operand(id, i)));
      operation what = original.what;
      if (auto* group = what.if_is<composite>()) group->first = copy_of(group->first);
      make(id, {&list(), list().append(what, original.shape, reads)});
      list().node_of(list().size() - 1).has_gradient = original.has_gradient;
    }
  }
  int const body_end = list().size();

  differentiation inner(*ops_);
  for (std::size_t i = 0; i < parts.nexts.size(); ++i) inner.add(copy_of(list().operand(parts.nexts[i], 2)), states[i]);
  for (int const id : parts.stacks)
    if (has(id)) {
      auto const where = list().node_of(id).what.as<operations::stack>();
      inner.add(copy_of(list().operand(id, 1)), ops_->at(loop, of(id), {where.axis, !where.reversed}));
    }
  inner.run(body, body_end);

  for (std::size_t i = 0; i < parts.carries.size(); ++i) {
    tensor const gradient = inner.of(copy_of(parts.carries[i]));
    ops_->next(loop, states[i], gradient.id >= 0 ? gradient : ops_->full(shape_of(parts.carries[i]), 0));
  }
  for (std::size_t i = 0; i < parts.outside.size(); ++i) {
    tensor const sum = states[parts.carries.size() + i], gradient = inner.of(parts.outside[i]);
    ops_->next(loop, sum, gradient.id >= 0 ? sum + gradient : sum);
  }
  std::vector<std::pair<int, tensor>> of_reads;
  for (int const id : parts.reads)
    if (tensor const gradient = inner.of(copy_of(id)); gradient.id >= 0) {
      auto const where = list().node_of(id).what.as<operations::at>();
      of_reads.emplace_back(list().operand(id, 1), ops_->stack(loop, gradient, {where.axis, !where.reversed}));
    }
  ops_->end_loop(loop);
  for (auto const& [id, gradient] : of_reads) add(id, gradient);
  for (std::size_t i = 0; i < parts.carries.size(); ++i)
    add(list().operand(parts.carries[i], 1), ops_->last(loop, states[i]));
  for (std::size_t i = 0; i < parts.outside.size(); ++i)
    add(parts.outside[i], ops_->last(loop, states[parts.carries.size() + i]));
}

}  // namespace stagecraft::operations
