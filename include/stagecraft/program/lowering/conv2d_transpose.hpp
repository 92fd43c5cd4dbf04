// SPDX-License-Identifier: BSD-3-Clause
// Lowering of conv2d_transpose: the convolution that leads from its output to its input, in the other direction.
// Level 4.
#pragma once

#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/layers/conv2d_transpose.hpp>
#include <stagecraft/program/lowering/layer_convolution.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/sums.hpp>
#include <stagecraft/program/lowering/weight.hpp>

namespace stagecraft {

template <>
struct lowering<layers::conv2d_transpose> {
  template <class Call>
  static constexpr convolution_shape back_of_call() {
    shape const in = Call::input_shape(), out = Call::output_shape();
    return detail::layer_convolution(Call::layer, Call::type, Call::batch, out[0], out[1], out[2], in[2]);
  }
  template <class Call>
  static constexpr convolution_shape back = back_of_call<Call>();

  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    return index == 0 ? &weight_mapping_of<back<Call>, Call::target, Call::config.convolutions, true> : nullptr;
  }

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const sums = detail::lowered_sums<Call>(step);
    append_convolution_input_gradient<back<Call>, Call::target, Call::config.convolutions>(
        step, Call::input(step), append_weight<Call>(step, 0), sums);
    detail::append_bias_and_activation<Call>(step, sums, 1);
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    int const gradient = append_activation_gradient<Call>(step, Call::layer.activation);
    if constexpr (Call::wants_input_gradient(0))
      append_convolution<back<Call>, Call::target, Call::config.convolutions>(
          step, gradient, append_weight<Call>(step, 0), Call::input_gradient(step));
    if constexpr (Call::parameter_info(0).trainable)
      append_convolution_filter_gradient<back<Call>, Call::target, Call::config.convolutions>(
          step, gradient, Call::input(step), Call::weight_gradient(step, 0));
    detail::append_bias_gradient<Call>(step, gradient, 1);
  }
};

}  // namespace stagecraft
