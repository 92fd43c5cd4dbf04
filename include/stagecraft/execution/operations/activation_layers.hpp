// SPDX-License-Identifier: BSD-3-Clause
// The steps of the layers on the host that are an activation with options: re_lu, leaky_re_lu, elu_layer,
// thresholded_re_lu, softmax_layer and prelu. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/execution/operations/logits.hpp>
#include <stagecraft/kernels/activation.hpp>
#include <stagecraft/kernels/prelu.hpp>
#include <stagecraft/kernels/softmax.hpp>
#include <stagecraft/kernels/softmax_planes.hpp>
#include <stagecraft/layers/elu_layer.hpp>
#include <stagecraft/layers/leaky_re_lu.hpp>
#include <stagecraft/layers/prelu.hpp>
#include <stagecraft/layers/re_lu.hpp>
#include <stagecraft/layers/softmax_layer.hpp>
#include <stagecraft/layers/thresholded_re_lu.hpp>

namespace stagecraft {

namespace detail {

/// A layer that says its activation in `function()`.
struct activation_layer_operation {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr long long floats = static_cast<long long>(Call::batch) * Call::size;

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    constexpr auto function = Call::layer.function();
    auto const [first, last] = call.elements(floats<Call>);
    kernels::activation_forward<function, typename Call::architecture>(call.input(0) + first, call.output() + first,
                                                                       last - first);
  }

  template <class Call>
  static void backward(Call const& call) {
    constexpr auto function = Call::layer.function();
    if constexpr (Call::wants_input_gradient(0)) {
      auto const [first, last] = call.elements(floats<Call>);
      kernels::activation_backward<function, Call::adds_input_gradient(0), typename Call::architecture>(
          (function.gradient_needs_input() ? call.input(0) : call.output()) + first, call.output_gradient() + first,
          call.input_gradient(0) + first, last - first);
    }
  }
};

}  // namespace detail

template <>
struct operation<layers::re_lu> : detail::activation_layer_operation {};
template <>
struct operation<layers::leaky_re_lu> : detail::activation_layer_operation {};
template <>
struct operation<layers::elu_layer> : detail::activation_layer_operation {};
template <>
struct operation<layers::thresholded_re_lu> : detail::activation_layer_operation {};

template <>
struct operation<layers::softmax_layer> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr int axis = Call::layer.shape_axis(Call::output_shape());
  template <class Call>
  static constexpr int outer = Call::batch * Call::output_shape().size(0, axis<Call>);
  template <class Call>
  static constexpr int length = Call::output_shape()[axis<Call>];
  template <class Call>
  static constexpr int inner = Call::output_shape().size(axis<Call> + 1, Call::output_shape().rank());

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::planned.activation_in_loss)
      detail::hand_logits_on(call);
    else if constexpr (inner<Call> == 1)
      kernels::softmax<outer<Call>, length<Call>, arch>(call.input(0), call.output(), call.share());
    else
      kernels::softmax_planes<outer<Call>, length<Call>, inner<Call>, arch>(call.input(0), call.output(), call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::planned.activation_in_loss) {
      detail::hand_logits_gradient_back(call);
    } else if constexpr (Call::wants_input_gradient(0)) {
      constexpr bool adds = Call::adds_input_gradient(0);
      if constexpr (inner<Call> == 1)
        kernels::softmax_gradient<outer<Call>, length<Call>, adds, arch>(call.output(), call.output_gradient(),
                                                                         call.input_gradient(0), call.share());
      else
        kernels::softmax_planes_gradient<outer<Call>, length<Call>, inner<Call>, adds, arch>(
            call.output(), call.output_gradient(), call.input_gradient(0), call.share());
    }
  }
};

template <>
struct operation<layers::prelu> {
  static constexpr bool divides = true;
  template <class Call>
  static constexpr kernels::slope_layout layout = kernels::slope_layout::of(
      Call::batch, Call::output_shape().rank(), Call::output_shape(), Call::layer.alpha_shape(Call::output_shape()));

  template <class Call>
  static constexpr long long workspace() {
    return 0;
  }

  template <class Call>
  static void forward(Call const& call) {
    kernels::prelu<layout<Call>, typename Call::architecture>(call.input(0), call.weight(0), call.output(),
                                                              call.share());
  }

  template <class Call>
  static void backward(Call const& call) {
    using arch = typename Call::architecture;
    if constexpr (Call::wants_input_gradient(0))
      kernels::prelu_input_gradient<layout<Call>, Call::adds_input_gradient(0), arch>(
          call.input(0), call.weight(0), call.output_gradient(), call.input_gradient(0), call.share());
    if constexpr (Call::layer.trainable)
      kernels::prelu_slope_gradient<layout<Call>, Call::adds_parameter_gradient, arch>(
          call.input(0), call.output_gradient(), call.parameter_gradient(0), call.share());
  }
};

}  // namespace stagecraft
