// SPDX-License-Identifier: BSD-3-Clause
// Lowering of conv1d and conv2d. Level 4.
#pragma once

#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/layers/conv1d.hpp>
#include <stagecraft/layers/conv2d.hpp>
#include <stagecraft/program/lowering/layer_convolution.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/sums.hpp>
#include <stagecraft/program/lowering/weight.hpp>
#include <type_traits>

namespace stagecraft {

namespace detail {

struct convolution_lowering {
  /// Axes before the image's count as batch.
  template <class Call>
  static constexpr convolution_shape convolution_of_call() {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    shape const in = Call::input_shape();
    return layer_convolution(Call::layer, Call::type, Call::batch * in.size(0, in.rank() - layer_type::axes),
                             layer_type::height_of(in), layer_type::width_of(in), in.back(), Call::layer.filters,
                             Call::layer.options.groups);
  }
  template <class Call>
  static constexpr convolution_shape convolution = convolution_of_call<Call>();

  template <class Call>
  static constexpr weight_mapping const* planned_weight(int index) {
    return index == 0 ? &weight_mapping_of<convolution<Call>, Call::target, Call::config.convolutions> : nullptr;
  }

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    int const sums = lowered_sums<Call>(step);
    append_convolution<convolution<Call>, Call::target, Call::config.convolutions>(step, Call::input(step),
                                                                                   append_weight<Call>(step, 0), sums);
    append_bias_and_activation<Call>(step, sums, 1);
  }

  template <class Call>
  static constexpr void backward(lowered_step& step) {
    int const gradient = append_activation_gradient<Call>(step, Call::layer.activation);
    if constexpr (Call::wants_input_gradient(0))
      append_convolution_input_gradient<convolution<Call>, Call::target, Call::config.convolutions>(
          step, gradient, append_weight<Call>(step, 0), Call::input_gradient(step));
    if constexpr (Call::parameter_info(0).trainable)
      append_convolution_filter_gradient<convolution<Call>, Call::target, Call::config.convolutions>(
          step, Call::input(step), gradient, Call::weight_gradient(step, 0));
    append_bias_gradient<Call>(step, gradient, 1);
  }
};

}  // namespace detail

template <>
struct lowering<layers::conv1d> : detail::convolution_lowering {};
template <>
struct lowering<layers::conv2d> : detail::convolution_lowering {};

}  // namespace stagecraft
