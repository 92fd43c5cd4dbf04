// SPDX-License-Identifier: BSD-3-Clause
// Lowering of separable_conv1d and separable_conv2d: a convolution with a group for each channel, and a product with
// the pointwise kernel. Level 4.
#pragma once

#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/layers/separable_conv1d.hpp>
#include <stagecraft/layers/separable_conv2d.hpp>
#include <stagecraft/program/lowering/layer_convolution.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/sums.hpp>
#include <stagecraft/program/lowering/weight.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft {

namespace detail {

struct separable_convolution_lowering {
  template <class Call>
  static constexpr convolution_shape convolution_of_call() {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    shape const in = Call::input_shape();
    return layer_convolution(Call::layer, Call::type, Call::batch, layer_type::height_of(in), layer_type::width_of(in),
                             in.back(), in.back() * Call::layer.options.depth_multiplier, in.back());
  }
  template <class Call>
  static constexpr convolution_shape convolution = convolution_of_call<Call>();
  template <class Call>
  static constexpr convolution_shape product =
      convolution_shape::matmul(Call::type, Call::output_elements() / Call::layer.filters,
                                Call::input_shape().back() * Call::layer.options.depth_multiplier, Call::layer.filters);

  /// What the first step gives, behind sums + bias if these are kept.
  template <class Call>
  static constexpr int depthwise_output(lowered_step& step) {
    bool const keeps_sums = Call::trains && Call::layer.activation.gradient_needs_input();
    shape const in = Call::input_shape();
    return Call::saved(step, static_cast<int>(Call::layer.kept_sums(in, Call::batch, keeps_sums)),
                       std::int64_t{Call::batch} * Call::layer.depthwise_shape(in).size());
  }

  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    if (index == 0) return &weight_mapping_of<convolution<Call>, Call::target, Call::config.convolutions>;
    return index == 1 ? &weight_mapping_of<product<Call>, Call::target, Call::config.convolutions> : nullptr;
  }

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const between = depthwise_output<Call>(step);
    append_convolution<convolution<Call>, Call::target, Call::config.convolutions>(
        step, Call::input(step), append_weight<Call>(step, 0), between);
    int const sums = lowered_sums<Call>(step);
    append_convolution<product<Call>, Call::target, Call::config.convolutions>(step, between,
                                                                               append_weight<Call>(step, 1), sums);
    append_bias_and_activation<Call>(step, sums, 2);
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    int const gradient = append_activation_gradient<Call>(step, Call::layer.activation);
    int const between = depthwise_output<Call>(step);
    if constexpr (Call::parameter_info(1).trainable)
      append_convolution_filter_gradient<product<Call>, Call::target, Call::config.convolutions>(
          step, between, gradient, Call::weight_gradient(step, 1));
    append_bias_gradient<Call>(step, gradient, 2);
    if constexpr (Call::wants_input_gradient(0) || Call::parameter_info(0).trainable)  // takes the output's place
      append_convolution_input_gradient<product<Call>, Call::target, Call::config.convolutions>(
          step, gradient, append_weight<Call>(step, 1), between);
    if constexpr (Call::wants_input_gradient(0))
      append_convolution_input_gradient<convolution<Call>, Call::target, Call::config.convolutions>(
          step, between, append_weight<Call>(step, 0), Call::input_gradient(step));
    if constexpr (Call::parameter_info(0).trainable)
      append_convolution_filter_gradient<convolution<Call>, Call::target, Call::config.convolutions>(
          step, Call::input(step), between, Call::weight_gradient(step, 0));
  }
};

}  // namespace detail

template <>
struct lowering<layers::separable_conv1d> : detail::separable_convolution_lowering {};
template <>
struct lowering<layers::separable_conv2d> : detail::separable_convolution_lowering {};

}  // namespace stagecraft
