// SPDX-License-Identifier: BSD-3-Clause
// Operands of another shape than the result, on tiles: repeated before an elementwise operation, their gradients summed
// after it. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/layers/broadcast.hpp>
#include <stagecraft/program/lowering/lowered_call.hpp>
#include <cstdint>

namespace stagecraft::detail {

template <class Call>
constexpr broadcast_axes axes_of_input(int index) {
  return {Call::batch, Call::output_shape(), Call::input_shape(index)};
}

/// An input with as many elements as the output.
template <class Call>
constexpr int append_broadcast_input(lowered_step& step, int index) {
  auto const axes = axes_of_input<Call>(index);
  int tensor = Call::input(step, index);
  for (int axis = 0; axis < axes.count; ++axis) {
    if (!axes.shared[axis]) continue;
    std::int64_t const before = axes.size(0, axis), behind = axes.own_size(axis + 1, axes.count);
    int const repeated = step.temporary(before * axes.length[axis] * behind, Call::type);
    append_repeat(step, tensor, repeated, {.rows = before, .channels = behind, .across = axes.length[axis]});
    tensor = repeated;
  }
  return tensor;
}

/// Where the gradient of an input is written element by element: `append_gradient_sums` makes that of the input of it.
template <class Call>
constexpr int elementwise_gradient(lowered_step& step, int index) {
  return axes_of_input<Call>(index).shares() ? step.temporary(Call::output_elements(), Call::type)
                                             : Call::input_gradient(step, index);
}

/// Sums over what an input was repeated along, one axis after the other, and multiplies with `scale`; nothing for an
/// input of the output's shape.
template <class Call>
constexpr void append_gradient_sums(lowered_step& step, int index, int gradient, float scale = 1) {
  auto const axes = axes_of_input<Call>(index);
  int last = axes.count - 1;
  while (last > 0 && !axes.shared[last]) --last;
  for (int axis = 0; axis <= last; ++axis) {
    if (!axes.shared[axis]) continue;
    std::int64_t const outer = axes.own_size(0, axis), inner = axes.size(axis + 1, axes.count);
    int const sums = axis == last ? Call::input_gradient(step, index) : step.temporary(outer * inner, dtype::float32);
    append_reduce(step, reduce_function::sum, {gradient}, sums, outer, axes.length[axis], inner,
                  axis == last ? scale : 1.0F);
    gradient = sums;
  }
}

/// The output's gradient is an input's, times a factor.
template <class Call>
constexpr void append_scaled_gradient(lowered_step& step, int index, float factor) {
  int const from = Call::output_gradient(step);
  if (axes_of_input<Call>(index).shares())
    append_gradient_sums<Call>(step, index, from, factor);
  else
    append_map(step, factor == 1 ? map_function::copy : map_function::scale, Call::input_gradient(step, index),
               {{from}}, {factor});
}

}  // namespace stagecraft::detail
