// SPDX-License-Identifier: BSD-3-Clause
// Copies of elements to other places of a tensor: slices, borders, parts of a concatenation, repetitions and
// transpositions. What popops and poputil do by views and copies.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/rearranged_box.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// A box of the result becomes copies of the input's elements.
///
/// Each tile receives one element of the input for each of its elements of the result that are in the box, then copies
/// them into place. As in ipu_target::memcpy_bytes_per_cycle, 8 bytes are copied (or cleared) in a cycle, however short
/// the pieces are: no vertex is published for it.
constexpr void append_rearrange(lowered_step& step, rearrange_function function, int input, int result,
                                rearranged_box const& box) {
  step.add(rearrangement{function, box}, {input}, {result});
}

constexpr rearranged_box box_of_part(box_axes const& input_axes, box_axes const& first, box_axes const& result_axes) {
  rearranged_box box{.extents = result_axes, .first = first, .counts = input_axes};
  for (int axis = 0; axis < box_axes::count; ++axis) box.source_stride.of[axis] = input_axes.stride(axis);
  return box;
}

/// The part of the result that begins at `first` becomes the input, with zeros around it.
constexpr void append_pad(lowered_step& step, int input, int result, box_axes const& input_axes, box_axes const& first,
                          box_axes const& result_axes) {
  append_rearrange(step, rearrange_function::copy_and_clear, input, result,
                   box_of_part(input_axes, first, result_axes));
}

/// Pixels of images are repeated. As above, but a tile receives what is repeated in a row, or in whole rows, only once.
constexpr void append_repeat(lowered_step& step, int input, int result, repeated_field const& field) {
  step.add(field, {input}, {result});
}

/// Cycles in which a tile writes `elements` elements of the result.
[[nodiscard]] constexpr std::int64_t rearrange_cycles(ipu_target const& target, dtype type, std::int64_t elements) {
  return ceil_div(elements * size_of(type), target.memcpy_bytes_per_cycle);
}
[[nodiscard]] constexpr operation_cost cost_of_copies(dtype type, ipu_target const& target, std::int64_t received,
                                                      std::int64_t written) {
  operation_cost cost;
  cost.add_exchange(target, received * size_of(type));
  cost.add_compute_set(rearrange_cycles(target, type, written));
  cost.temporary_bytes = rounded_bytes(received * size_of(type));
  return cost;
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, rearrangement const& what,
                                               ipu_target const& target) {
  auto const& result = step.output_of(task);
  tile_mapping const mapping(result, target);
  std::int64_t const received = what.box.most_on_a_tile(mapping);
  return cost_of_copies(result.type, target, received,
                        what.function == rearrange_function::copy ? received : mapping.elements_of(0));
}
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, repeated_field const& field,
                                               ipu_target const& target) {
  auto const& result = step.output_of(task);
  tile_mapping const mapping(result, target);
  return cost_of_copies(result.type, target, field.most_received(mapping), mapping.elements_of(0));
}

}  // namespace stagecraft::tiles
