// SPDX-License-Identifier: BSD-3-Clause
// Convolutions and matrix products on many tiles, by the plan that is best for them: poplin's convolution and matMul.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/convolution/convolution_shape.hpp>
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/operations/convolution_cost.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/weight_mapping.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/machines/ipu_target.hpp>

namespace stagecraft::tiles {

/// Found once for all convolutions that are alike.
template <convolution_shape Shape, ipu_target Target, poplar_options Options>
inline constexpr convolution_plan best_plan = plan_convolution(Shape, Target, Options);

/// Options without those that do not matter for a shape.
[[nodiscard]] constexpr poplar_options options_for(convolution_shape const& shape, poplar_options options) {
  if (shape.operand() != dtype::float16) options.partials_type = dtype::float32;
  return options;
}
/// A target without the parts that no plan asks for.
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

/// How the weights of a convolution or matrix product lie, by its plan.
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
