// SPDX-License-Identifier: BSD-3-Clause
// Copies of elements to other places of a tensor: slices, borders, parts of a concatenation, repetitions and
// transpositions. What popops and poputil do by views and copies.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/machine/integers.hpp>
#include <stagecraft/ipu/operations/rearranged_box.hpp>
#include <stagecraft/ipu/operations/repeated_field.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// Copies into a box of the result; what becomes of its elements outside the box.
enum class rearrange_function : int {
  copy,            ///< they stay as they are
  copy_and_clear,  ///< they become 0
  repeat           ///< there is no box: pixels of images are repeated
};

/// A box of the result becomes copies of the input's elements.
///
/// Each tile receives one element of the input for each of its elements of the result that are in the box, then copies
/// them into place. As in ipu_target::memcpy_bytes_per_cycle, 8 bytes are copied (or cleared) in a cycle, however short
/// the pieces are: no vertex is published for it.
constexpr void append_rearrange(lowered_step& step, rearrange_function function, int input, int result,
                                rearranged_box const& box) {
  tile_operation& operation = step.add(operation_kind::rearrange, static_cast<int>(function), {input}, {result});
  for (int axis = 0; axis < box_axes::count; ++axis) {
    std::int64_t* const sizes = operation.sizes + 4 * axis;
    sizes[0] = box.extents[axis];
    sizes[1] = box.first[axis];
    sizes[2] = box.counts[axis];
    sizes[3] = box.source_stride[axis];
  }
  operation.sizes[4 * box_axes::count] = box.source_first;
}

/// In a loop, a box may move: by `step` places with each trip of the loop that contains `outer` others.
struct moving_box {
  static constexpr int source = 4 * box_axes::count;  ///< the size that moves: where the box begins in the input...
  static constexpr int axis_2_of_result = 4 * 2 + 1;  ///< ...or along axis 2 of the result
  static constexpr int first_size = 4 * box_axes::count + 2;  ///< where an operation keeps all this

  int size = source;
  std::int64_t step = 0;
  int loop = 0;

  constexpr void write(tile_operation& operation) const noexcept {
    operation.sizes[first_size] = size;
    operation.sizes[first_size + 1] = step;
    operation.sizes[first_size + 2] = loop;
  }
  /// Of an operation whose box does not move, the step is 0.
  [[nodiscard]] static constexpr moving_box of(tile_operation const& operation) noexcept {
    if (operation.kind != operation_kind::rearrange) return {};
    return {static_cast<int>(operation.sizes[first_size]), operation.sizes[first_size + 1],
            static_cast<int>(operation.sizes[first_size + 2])};
  }
  /// The operation in trip number `trip`.
  [[nodiscard]] constexpr tile_operation moved(tile_operation operation, std::int64_t trip) const noexcept {
    operation.sizes[size] += trip * step;
    return operation;
  }
};

}  // namespace stagecraft::tiles

namespace stagecraft::detail {

constexpr rearranged_box box_of_part(box_axes const& input_axes, box_axes const& first, box_axes const& result_axes) {
  rearranged_box box{.extents = result_axes, .first = first, .counts = input_axes};
  for (int axis = 0; axis < box_axes::count; ++axis) box.source_stride.of[axis] = input_axes.stride(axis);
  return box;
}

}  // namespace stagecraft::detail

namespace stagecraft::tiles {

/// The part of the result that begins at `first` becomes the input, with zeros around it.
constexpr void append_pad(lowered_step& step, int input, int result, box_axes const& input_axes, box_axes const& first,
                          box_axes const& result_axes) {
  append_rearrange(step, rearrange_function::copy_and_clear, input, result,
                   detail::box_of_part(input_axes, first, result_axes));
}

/// Pixels of images are repeated. As above, but a tile receives what is repeated in a row, or in whole rows, only once.
constexpr void append_repeat(lowered_step& step, int input, int result, repeated_field const& field) {
  tile_operation& operation =
      step.add(operation_kind::rearrange, static_cast<int>(rearrange_function::repeat), {input}, {result});
  std::int64_t* size = operation.sizes;
  for (std::int64_t const number : {field.images, field.rows, field.columns, field.channels, field.down, field.across})
    *size++ = number;
}

}  // namespace stagecraft::tiles

namespace stagecraft::detail {

[[nodiscard]] constexpr rearranged_box box_of(tile_operation const& operation) noexcept {
  rearranged_box box;
  for (int axis = 0; axis < box_axes::count; ++axis) {
    std::int64_t const* const sizes = operation.sizes + 4 * axis;
    box.extents.of[axis] = sizes[0];
    box.first.of[axis] = sizes[1];
    box.counts.of[axis] = sizes[2];
    box.source_stride.of[axis] = sizes[3];
  }
  box.source_first = operation.sizes[4 * box_axes::count];
  return box;
}

[[nodiscard]] constexpr repeated_field field_of(tile_operation const& operation) noexcept {
  auto const& sizes = operation.sizes;
  return {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]};
}

/// Cycles in which a tile writes `elements` elements of the result.
[[nodiscard]] constexpr std::int64_t rearrange_cycles(ipu_target const& target, dtype type, std::int64_t elements) {
  return ceil_div(elements * size_of(type), target.memcpy_bytes_per_cycle);
}

}  // namespace stagecraft::detail

namespace stagecraft::tiles {

[[nodiscard]] constexpr operation_cost cost_of_rearrange(lowered_step const& step, tile_operation const& operation,
                                                         ipu_target const& target) {
  auto const& result = step.output_of(operation);
  tile_mapping const mapping(result, target);
  auto const function = static_cast<rearrange_function>(operation.function);
  std::int64_t const received = function == rearrange_function::repeat
                                    ? detail::field_of(operation).most_received(mapping)
                                    : detail::box_of(operation).most_on_a_tile(mapping);
  std::int64_t const written = function == rearrange_function::copy ? received : mapping.elements_of(0);
  operation_cost cost;
  cost.add_exchange(target, received * size_of(result.type));
  cost.add_compute_set(detail::rearrange_cycles(target, result.type, written));
  cost.temporary_bytes = rounded_bytes(received * size_of(result.type));
  return cost;
}

}  // namespace stagecraft::tiles
