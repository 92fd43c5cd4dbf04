// SPDX-License-Identifier: BSD-3-Clause
// The steps of prelu on the host. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/prelu.hpp>
#include <stagecraft/layers/prelu.hpp>

namespace stagecraft {

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
