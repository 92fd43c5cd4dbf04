// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and matrix products on many tiles, by the plan that is best for them, as poplin's convolution and
// matMul: the tasks, and what they cost from where the operands lie to where the result shall lie.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/convolution/convolution_memory.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/machines/ipu_config.hpp>
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

[[nodiscard]] constexpr convolution_division division_of(lowered_step const& step, task const& task,
                                                         ipu_target const& target) noexcept {
  auto const& what = task.what.as<planned_product>();
  return {step.shapes[task.plan], step.plans[task.plan], target, what.loads_128_bits != 0, what.kernel_is_there != 0};
}

/// Operands come from where they lie to the tiles that multiply them,
/// serial part after serial part: through an even share for each tile where they have to be laid out for the plan.
/// Partial sums are added up, and results go to where they shall lie, where they are put in order if need be. A kernel
/// that lies as the plan wants it (weight_mapping) stays where it is: only what other tiles have of it is received.
///
/// As the planner's estimate (detail::convolution_problem), but exact: a tile receives all else that it needs, also
/// what lies there already, none faster for a neighbour that receives the same; parts that are smaller than others
/// count as such; the way home counts; and serial parts are written out one after the other, so that none is sliced.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, planned_product const&,
                                               ipu_target const& target) {
  auto const division = division_of(step, task, target);
  convolution_phases const phases{division};
  tile_tensor const& result = step.output_of(task);
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

/// The plan, which is found once for all convolutions that are alike.
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
inline constexpr convolution_plan best_plan = plan_convolution(Shape, Target, Options);

/// The options that matter for a shape.
[[nodiscard]] constexpr poplar_options options_for(convolution_shape const& shape, poplar_options options) {
  if (shape.operand() != dtype::float16) options.partials_type = dtype::float32;
  return options;
}
/// The parts of a target that plans ask for.
[[nodiscard]] constexpr ipu_target target_for_plans(ipu_target target) {
  ipu_target const any;
  target.name = any.name;
  target.tile_clock_frequency = any.tile_clock_frequency;
  target.ipu_link_bits_per_second = any.ipu_link_bits_per_second;
  target.ipu_link_efficiency_percent = any.ipu_link_efficiency_percent;
  target.links_within_pair = any.links_within_pair;
  target.links_across_ladder = any.links_across_ladder;
  target.links_along_ladder = any.links_along_ladder;
  target.sync_hop_nanoseconds = any.sync_hop_nanoseconds;
  target.global_sync_cycles = any.global_sync_cycles;
  target.host_bytes_per_second = any.host_bytes_per_second;
  target.host_latency_cycles = any.host_latency_cycles;
  target.streaming_memory_bytes = any.streaming_memory_bytes;
  target.streaming_memory_bytes_per_second = any.streaming_memory_bytes_per_second;
  target.streaming_memory_latency_cycles = any.streaming_memory_latency_cycles;
  return target;
}

/// The plan of a convolution or matrix product.
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
inline constexpr convolution_plan const& plan_of =
    best_plan<Shape, target_for_plans(Target), options_for(Shape, Options)>;

/// `Shape` is that of a forward pass. Transposed: its input gradient's, which is the forward pass of a transposed one.
template <convolution_shape Shape, ipu_target Target, poplar_options Options, bool Transposed>
inline constexpr weight_mapping best_weight_mapping{
    Transposed ? Shape.input_gradient() : Shape,
    best_plan<Transposed ? Shape.input_gradient() : Shape, Target, Options>,
    Transposed ? convolution_strides::input_gradient(Shape) : convolution_strides::forward(Shape), Target};

/// The places of the weights of a convolution or matrix product, by its plan.
template <convolution_shape Shape, ipu_target Target, poplar_options Options, bool Transposed = false>
inline constexpr weight_mapping const& weight_mapping_of =
    best_weight_mapping<Shape, target_for_plans(Target), options_for(Shape, Options), Transposed>;

constexpr void append_planned(lowered_step& step, convolution_shape const& shape, convolution_plan const& plan,
                              poplar_options const& options, convolution_strides const& strides, int inputs,
                              int weights, int result) {
  weight_mapping const* const mapping = step.tensors[weights].planned;
  planned_product const what{static_cast<std::int64_t>(shape.pass), strides, options.use_128bit_conv_unit_load ? 1 : 0,
                             mapping != nullptr && mapping->serves(shape, plan, strides) ? 1 : 0};
  step.add(what, {inputs, weights}, {result}).plan = step.add_plan(shape, plan);
}

/// result = input * kernel. `Shape` is that of the forward pass. The input is (batch, rows, columns, channels), the
/// kernel (rows, columns, input channels of a group, output channels), the result as the input. A matrix product is
/// one with a single place: input (batch, input channels), kernel (input channels, output channels).
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
constexpr void append_convolution(lowered_step& step, int input, int kernel, int result) {
  append_planned(step, Shape, plan_of<Shape, Target, Options>, Options, convolution_strides::forward(Shape), input,
                 kernel, result);
}

/// The gradient of the input, from that of the result and the kernel: all as in the forward pass, whose shape is
/// `Shape`. It is also the forward pass of a transposed convolution.
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
constexpr void append_convolution_input_gradient(lowered_step& step, int result_gradient, int kernel,
                                                 int input_gradient) {
  constexpr convolution_shape shape = Shape.input_gradient();
  append_planned(step, shape, plan_of<shape, Target, Options>, Options, convolution_strides::input_gradient(Shape),
                 result_gradient, kernel, input_gradient);
}

/// The gradient of the kernel, from the input and the gradient of the result.
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
constexpr void append_convolution_filter_gradient(lowered_step& step, int input, int result_gradient,
                                                  int kernel_gradient) {
  constexpr convolution_shape shape = Shape.filter_gradient();
  append_planned(step, shape, plan_of<shape, Target, Options>, Options, convolution_strides::filter_gradient(Shape),
                 input, result_gradient, kernel_gradient);
}

}  // namespace stagecraft::tiles
