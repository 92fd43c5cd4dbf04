// SPDX-License-Identifier: BSD-3-Clause
// Slices, parts of a concatenation and transpositions, as boxes that are copied.
#pragma once

#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <cstdint>

namespace tests {

using stagecraft::tiles::box_axes;
using stagecraft::tiles::lowered_step;
using stagecraft::tiles::rearrange_function;
using stagecraft::tiles::rearranged_box;

/// The result is the part of the input that begins at `first`. Axes of the input and the result, the outermost first.
constexpr void append_slice(lowered_step& step, int input, int result, box_axes const& input_axes,
                            box_axes const& first, box_axes const& result_axes) {
  rearranged_box box{.extents = result_axes, .counts = result_axes};
  for (int axis = 0; axis < box_axes::count; ++axis) {
    box.source_stride.of[axis] = input_axes.stride(axis);
    box.source_first += first[axis] * input_axes.stride(axis);
  }
  append_rearrange(step, rearrange_function::copy, input, result, box);
}

/// The part of the result that begins at `first` becomes the input: one operation for each input of a concatenation.
constexpr void append_part(lowered_step& step, int input, int result, box_axes const& input_axes, box_axes const& first,
                           box_axes const& result_axes) {
  append_rearrange(step, rearrange_function::copy, input, result,
                   stagecraft::detail::box_of_part(input_axes, first, result_axes));
}

/// Axis i of the result is axis order[i] of the input.
constexpr void append_transpose(lowered_step& step, int input, int result, box_axes const& input_axes,
                                box_axes const& order) {
  rearranged_box box;
  for (int axis = 0; axis < box_axes::count; ++axis) {
    int const from = static_cast<int>(order[axis]);
    box.extents.of[axis] = box.counts.of[axis] = input_axes[from];
    box.source_stride.of[axis] = input_axes.stride(from);
  }
  append_rearrange(step, rearrange_function::copy, input, result, box);
}

}  // namespace tests
