// SPDX-License-Identifier: BSD-3-Clause
// Windows and interpolation over the fields of a batch, and their gradients: popnn's pooling, and what image resizing
// needs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/pool_split.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/pool_work.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// The result is cut into boxes for the tiles of `target`. Each tile receives what it needs for its box, computes it
/// and sends it to where it lies.
[[nodiscard]] constexpr pool_work split_pool(pool_function function, pool_shape const& shape, dtype type,
                                             ipu_target const& target) {
  return pool_splitter({.function = function, .shape = shape}, type, target).split();
}
/// Inputs and outputs, all of one type but the numbers of cells, which have shape.position_bytes() elements of uint8
/// for each window, the lowest byte first:
/// - max: x -> y, or y and numbers of cells
/// - average, sum, bilinear: x -> y
/// - max_gradient: numbers of cells, dy -> dx
/// - average_gradient, bilinear_gradient: dy -> dx
constexpr void append_pool(lowered_step& step, pool_function function, std::initializer_list<int> inputs,
                           std::initializer_list<int> outputs, pool_shape const& shape, ipu_target const& target) {
  step.add(split_pool(function, shape, step.tensors[*outputs.begin()].type, target), inputs, outputs);
}

/// Elements of an operation's input for each element that a tile needs, or of an output for each that it makes.
[[nodiscard]] constexpr std::int64_t pool_elements_each(tile_tensor const& tensor, pool_work const& work) noexcept {
  return tensor.type == dtype::uint8 ? work.shape.position_bytes() : 1;
}

/// Elements for which every tile has room: as many of an input or output as the tile with most needs.
[[nodiscard]] constexpr std::int64_t pool_input_room(lowered_step const& step, tile_operation const& operation,
                                                     pool_work const& work, int input) noexcept {
  return work.most_needed() * pool_elements_each(step.input_of(operation, input), work);
}
[[nodiscard]] constexpr std::int64_t pool_output_room(lowered_step const& step, tile_operation const& operation,
                                                      pool_work const& work, int output) noexcept {
  return work.result_of(0).elements() * pool_elements_each(step.output_of(operation, output), work);
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, tile_operation const& operation,
                                               pool_work const& work, ipu_target const& target) {
  operation_cost cost;
  std::int64_t received = 0, sent = 0;
  for (int i = 0; i < operation.input_count; ++i) {
    std::int64_t const bytes = pool_input_room(step, operation, work, i) * size_of(step.input_of(operation, i).type);
    received += bytes;
    cost.temporary_bytes += rounded_bytes(bytes);
  }
  for (int i = 0; i < operation.output_count; ++i) {
    auto const& output = step.output_of(operation, i);
    sent += tile_mapping(output, target).elements_of(0) * size_of(output.type);
    cost.temporary_bytes += rounded_bytes(pool_output_room(step, operation, work, i) * size_of(output.type));
  }
  cost.add_exchange(target, received);
  cost.add_compute_set(work.most_cycles(step.output_of(operation).type, target));
  cost.add_exchange(target, sent);
  pool_box whole;
  for (int axis = 0; axis < 4; ++axis) whole.axes[axis] = {0, work.extent(axis)};
  cost.flops = work.flops(whole);
  return cost;
}

}  // namespace stagecraft::tiles
