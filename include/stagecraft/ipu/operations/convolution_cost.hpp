// SPDX-License-Identifier: BSD-3-Clause
// What a convolution or matrix product costs, from where its operands lie to where its result shall lie.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/convolution/convolution_memory.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// The phases of a convolution in their order, each for the tile with most.
struct convolution_phases {
  convolution_division const& division;
  ipu_target const& target = division.problem.target;

  /// Inputs or weights are laid out, sent to those who multiply them, and converted.
  [[nodiscard]] constexpr operation_cost operands(std::int64_t out, std::int64_t in, bool inputs,
                                                  bool weights) const noexcept {
    dtype const type = division.problem.shape.input;
    auto const part = division.part(0, out, in), whole = division.serial_part(out, in);
    std::int64_t const shared_inputs =
        inputs && division.lays_out_inputs() ? division.share(division.inputs(whole)) : 0;
    std::int64_t const shared_weights = weights && division.lays_out_weights() ? division.share(whole.weights()) : 0;
    std::int64_t const input_elements = inputs ? division.inputs(part) : 0;
    std::int64_t const weight_elements = weights ? part.weights() : 0;
    operation_cost cost;
    cost.add_exchange(target, (shared_inputs + shared_weights) * size_of(type));
    cost.add_compute_set(division.copy_cycles(shared_inputs, type) + division.copy_cycles(shared_weights, type));
    std::int64_t const received =
        (inputs ? division.received_inputs(0, part) : 0) + (weights ? division.received_weights(0, part) : 0);
    cost.add_exchange(target, received * size_of(type));
    if (division.problem.shape.multiplies_float16)
      cost.add_compute_set(division.cast_cycles(input_elements) + division.cast_cycles(weight_elements));
    return cost;
  }
  /// A serial part, whose results are added to those of the parts before it.
  [[nodiscard]] constexpr operation_cost serial_part(std::int64_t out, std::int64_t in) const noexcept {
    auto cost = operands(out, in, !division.sends_inputs_once, true);
    cost.add_compute_set(division.longest_compute_cycles(out, in));
    std::int64_t const outputs = division.part(0, out, in).outputs();
    for (int i = 0; i < division.stages(); ++i) {
      auto const stage = division.stage(i, outputs);
      std::int64_t const elements = smaller(stage.chunks_per_tile * division.chunk(), outputs);
      std::int64_t const tiles = stage.tiles - (division.sends_own_partials() ? 0 : 1);
      cost.add_exchange(target, tiles * elements * size_of(division.view.partials));
      cost.add_compute_set(division.reduce_cycles(stage, stage.chunks_per_tile));
    }
    std::int64_t const kept = division.outputs_kept(outputs);
    if (!division.adds_serial_parts()) {
      if (division.stages() == 0) cost.add_compute_set(division.rounding_cycles(kept));
    } else {
      if (in > 0) cost.add_compute_set(division.add_cycles(kept));
      if (in + 1 == division.serial_in_parts) cost.add_compute_set(division.rounding_cycles(kept));
    }
    return cost;
  }
};

/// The cost of doing something several times.
[[nodiscard]] constexpr operation_cost times(operation_cost cost, std::int64_t count) noexcept {
  cost.compute_cycles *= count;
  cost.exchange_cycles *= count;
  cost.sync_cycles *= count;
  cost.flops *= count;
  cost.bytes_exchanged *= count;
  cost.exchanges *= count;
  cost.compute_sets *= count;
  return cost;
}

[[nodiscard]] constexpr convolution_division division_of(lowered_step const& step, tile_operation const& operation,
                                                         ipu_target const& target) noexcept {
  auto const& what = operation.what.as<planned_product>();
  return {step.shapes[operation.plan], step.plans[operation.plan], target, what.loads_128_bits != 0,
          what.kernel_is_there != 0};
}

/// Operands come from where they lie to the tiles that multiply them,
/// serial part after serial part: through an even share for each tile where they have to be laid out for the plan.
/// Partial sums are added up, and results go to where they shall lie, where they are put in order if need be. A kernel
/// that lies as the plan wants it (weight_mapping) stays where it is: only what other tiles have of it is received.
///
/// As the planner's estimate (detail::convolution_problem), but exact: a tile receives all else that it needs, also
/// what lies there already, none faster for a neighbour that receives the same; parts that are smaller than others
/// count as such; the way home counts; and serial parts are written out one after the other, so that none is sliced.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, tile_operation const& operation,
                                               planned_product const&, ipu_target const& target) {
  auto const division = division_of(step, operation, target);
  convolution_phases const phases{division};
  tile_tensor const& result = step.output_of(operation);
  std::int64_t const at_home = tile_mapping(result, target).elements_of(0);
  std::int64_t const outs = division.serial_out_parts, ins = division.serial_in_parts;

  operation_cost cost;
  if (division.sends_inputs_once) cost += phases.operands(0, 0, true, false);
  // The first parts are all as long; the first of those that are added up is different, too, and so is the last.
  auto const add_parts = [&](std::int64_t out, std::int64_t count) {
    cost += times(phases.serial_part(out, 0), count);
    if (ins > 2) cost += times(phases.serial_part(out, 1), count * (ins - 2));
    if (ins > 1) cost += times(phases.serial_part(out, ins - 1), count);
  };
  if (outs > 1) add_parts(0, outs - 1);
  add_parts(outs - 1, 1);
  cost.add_exchange(target, at_home * size_of(result.type));
  if (division.view.rearranges_output) cost.add_compute_set(division.copy_cycles(at_home, result.type));
  cost.flops = division.problem.shape.flops();
  cost.temporary_bytes = convolution_memory(division, at_home).bytes;
  return cost;
}

}  // namespace stagecraft::tiles
