// SPDX-License-Identifier: BSD-3-Clause
// What follows the products of a layer with a kernel, such as dense or conv2d, on tiles: bias and activation, forward
// and backward. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/program/lowering/activation.hpp>
#include <stagecraft/program/lowering/lowered_call.hpp>
#include <stagecraft/program/lowering/weight.hpp>
#include <cstdint>

namespace stagecraft::detail {

/// Where the sums of products belong: into the output, or where they are kept for the gradient of the activation.
template <class Call>
constexpr int lowered_sums(lowered_step& step) {
  bool const keeps = Call::trains && Call::layer.activation.gradient_needs_input();
  return keeps ? Call::saved(step, 0, Call::output_elements()) : Call::output(step);
}

/// output = activation(sums + bias); the bias, if there is one, is weight number `bias`.
template <class Call>
constexpr void append_bias_and_activation(lowered_step& step, int sums, int bias) {
  if (Call::layer.options.use_bias)
    append_map(step, map_function::add, sums,
               {{sums}, {append_weight<Call>(step, bias), 1, Call::output_shape().back()}});
  append_activation<Call>(step, Call::layer.activation, sums);
}

/// The gradient of the bias, from that of the sums.
template <class Call>
constexpr void append_bias_gradient(lowered_step& step, int gradient, int bias) {
  if (!Call::layer.options.use_bias || !Call::parameter_info(bias).trainable) return;
  std::int64_t const channels = Call::output_shape().back();
  append_reduce(step, reduce_function::sum, {gradient}, Call::weight_gradient(step, bias), 1,
                Call::output_elements() / channels, channels);
}

}  // namespace stagecraft::detail
