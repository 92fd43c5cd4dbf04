// SPDX-License-Identifier: BSD-3-Clause
// Lowering of dense: matrix products. Level 4.
#pragma once

#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/layers/dense.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/sums.hpp>
#include <stagecraft/program/lowering/weight.hpp>

namespace stagecraft {

template <>
struct lowering<layers::dense> {
  /// All rows of the batch at once.
  template <class Call>
  static constexpr convolution_shape product = convolution_shape::matmul(
      Call::type, Call::input_elements() / Call::input_shape().back(), Call::input_shape().back(), Call::layer.units);

  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    return index == 0 ? &weight_mapping_of<product<Call>, Call::target, Call::config.matmuls> : nullptr;
  }

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const sums = detail::lowered_sums<Call>(step);
    append_convolution<product<Call>, Call::target, Call::config.matmuls>(step, Call::input(step),
                                                                          append_weight<Call>(step, 0), sums);
    detail::append_bias_and_activation<Call>(step, sums, 1);
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    int const gradient = append_activation_gradient<Call>(step, Call::layer.activation);
    if constexpr (Call::wants_input_gradient(0))
      append_convolution_input_gradient<product<Call>, Call::target, Call::config.matmuls>(
          step, gradient, append_weight<Call>(step, 0), Call::input_gradient(step));
    if constexpr (Call::parameter_info(0).trainable)
      append_convolution_filter_gradient<product<Call>, Call::target, Call::config.matmuls>(
          step, Call::input(step), gradient, Call::weight_gradient(step, 0));
    detail::append_bias_gradient<Call>(step, gradient, 1);
  }
};

}  // namespace stagecraft
