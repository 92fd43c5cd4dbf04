// SPDX-License-Identifier: BSD-3-Clause
// What puts elements elsewhere in a traced layer, as copies between tiles, or as nothing where the order stays.
// Level 4.
#pragma once

#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/program/lowering/traced/program_builder.hpp>

namespace stagecraft::detail {

/// Axes of a result and the strides in its source, of which neighbours are put together where both go on alike.
class merged_axes {
 public:
  /// Adds an axis; they come from the outermost one on.
  constexpr void add(std::int64_t length, std::int64_t source_stride) {
    if (length == 1) return;
    if (count_ > 0 && strides_[count_ - 1] == source_stride * length) {
      lengths_[count_ - 1] *= length;
      strides_[count_ - 1] = source_stride;
      return;
    }
    lengths_[count_] = length;
    strides_[count_++] = source_stride;
  }
  [[nodiscard]] constexpr bool fit_a_box() const noexcept { return count_ <= box_axes::count; }
  /// Whether the result is the source as it is, but for its begin.
  [[nodiscard]] constexpr bool are_in_order() const noexcept {
    return count_ == 0 || (count_ == 1 && strides_[0] == 1);
  }
  /// The whole result.
  [[nodiscard]] constexpr rearranged_box box() const {
    rearranged_box box;
    for (int i = 0; i < count_; ++i) {
      int const axis = box_axes::count - count_ + i;
      box.extents.of[axis] = box.counts.of[axis] = lengths_[i];
      box.source_stride.of[axis] = strides_[i];
    }
    return box;
  }

 private:
  std::int64_t lengths_[operations::extents::max_rank + 1]{}, strides_[operations::extents::max_rank + 1]{};
  int count_ = 0;
};

/// `result` becomes elements of `source`, of the same type.
template <class Program>
constexpr void add_rearrange(Program& program, int source, int result, merged_axes const& axes,
                             std::int64_t source_first = 0) {
  if (!axes.fit_a_box()) {
    program.failed = true;
    return;
  }
  auto box = axes.box();
  box.source_first = source_first;
  program.add([&](lowered_step& step) { append_rearrange(step, rearrange_function::copy, source, result, box); });
}

constexpr std::int64_t stride_of_axis(operations::extents const& shape, int axis) {
  return elements_of_axes(shape, axis + 1, shape.rank);
}

constexpr merged_axes axes_of_broadcast(operations::extents const& from, operations::extents const& to) {
  merged_axes axes;
  for (int axis = 0; axis < to.rank; ++axis) {
    int const own = axis - (to.rank - from.rank);
    axes.add(to[axis], own < 0 || from[own] == 1 ? 0 : stride_of_axis(from, own));
  }
  return axes;
}
template <class Program>
constexpr int broadcast_to(Program& program, int tensor, operations::extents const& from,
                           operations::extents const& to) {
  int const result = program.temporary(to.size(), program.type_of(tensor));
  add_rearrange(program, tensor, result, axes_of_broadcast(from, to));
  return result;
}

template <class Program>
constexpr void lower_traced(Program& program, operations::reshape const&, int id) {
  program.values[program.at(id)] = program.value_of(program.operand(id, 0));
}
template <class Program>
constexpr void lower_traced(Program& program, operations::composite const&, int id) {
  program.values[program.at(id)] = program.value_of(program.operand(id, 0));
}

template <class Program>
constexpr void lower_traced(Program& program, operations::broadcast const&, int id) {
  int const operand = program.operand(id, 0);
  auto const &from = program.node_of(operand).shape, &to = program.node_of(id).shape;
  auto const& value = program.value_of(operand);
  if (program.is_kept(id)) {  // in its own place
    if (value.is_number) return program.fill(program.result(id), value.number);
    if (from.size() == to.size()) return program.copy(value.tensor, program.result(id));
  } else if (value.is_number || from.size() == to.size()) {
    program.values[program.at(id)] = value;
    return;
  }
  if (program.is_read_by_maps_only(id)) return;
  int const result = program.result(id);
  add_rearrange(program, program.tensor_of(operand, program.type_of(result)), result, axes_of_broadcast(from, to));
}

/// One whose result has its operand's elements in their order is a reshape.
template <class Program>
constexpr void lower_traced(Program& program, operations::transpose const& what, int id) {
  int const operand = program.operand(id, 0);
  auto const &from = program.node_of(operand).shape, &to = program.node_of(id).shape;
  merged_axes axes;
  for (int axis = 0; axis < to.rank; ++axis) axes.add(to[axis], stride_of_axis(from, what.order[axis]));
  if (program.value_of(operand).is_number || axes.are_in_order()) {
    program.values[program.at(id)] = program.value_of(operand);
    return;
  }
  int const result = program.result(id);
  add_rearrange(program, program.tensor_of(operand, program.type_of(result)), result, axes);
}

template <class Program>
constexpr void lower_traced(Program& program, operations::slice const& what, int id) {
  int const operand = program.operand(id, 0);
  if (program.value_of(operand).is_number) {
    program.values[program.at(id)] = program.value_of(operand);
    return;
  }
  auto const &from = program.node_of(operand).shape, &to = program.node_of(id).shape;
  merged_axes axes;
  for (int axis = 0; axis < to.rank; ++axis)
    axes.add(to[axis], stride_of_axis(from, axis) * (axis == what.axis ? what.step : 1));
  int const result = program.result(id);
  add_rearrange(program, program.tensor_of(operand, program.type_of(result)), result, axes,
                what.begin * stride_of_axis(from, what.axis));
}

/// A part of the result along an axis, from `begin` on; `reversed`: down from there.
template <class Program>
constexpr void add_part(Program& program, int source, int result, operations::extents const& part,
                        operations::extents const& whole, int axis, std::int64_t begin, bool reversed, bool clears) {
  std::int64_t const outer = elements_of_axes(whole, 0, axis), inner = stride_of_axis(whole, axis), count = part[axis];
  rearranged_box box{.extents = {1, outer, whole[axis], inner}, .counts = {1, outer, count, inner}};
  box.first = {0, 0, reversed ? begin - (count - 1) : begin, 0};
  box.source_stride = {0, count * inner, reversed ? -inner : inner, 1};
  box.source_first = reversed ? (count - 1) * inner : 0;
  program.add([&](lowered_step& step) {
    append_rearrange(step, clears ? rearrange_function::copy_and_clear : rearrange_function::copy, source, result, box);
  });
}

template <class Program>
constexpr void lower_traced(Program& program, operations::pad const& what, int id) {
  int const operand = program.operand(id, 0);
  if (what.step != 1 && what.step != -1 && program.node_of(operand).shape[what.axis] > 1) {
    program.failed = true;  // places between the copies would have to be cleared
    return;
  }
  int const result = program.result(id);
  add_part(program, program.tensor_of(operand, program.type_of(result)), result, program.node_of(operand).shape,
           program.node_of(id).shape, what.axis, what.begin, what.step < 0, true);
}

template <class Program>
constexpr void lower_traced(Program& program, operations::concatenate const& what, int id) {
  int const result = program.result(id);
  std::int64_t begin = 0;
  for (int i = 0; i < program.node_of(id).operand_count; ++i) {
    int const operand = program.operand(id, i);
    auto const& part = program.node_of(operand).shape;
    add_part(program, program.tensor_of(operand, program.type_of(result)), result, part, program.node_of(id).shape,
             what.axis, begin, false, false);
    begin += part[what.axis];
  }
}

}  // namespace stagecraft::detail
