// SPDX-License-Identifier: BSD-3-Clause
// The steps of depthwise_conv2d on the host.
//
// It multiplies floats where the processor multiplies pairs of bfloat16, too: a channel's pairs are of taps, so that
// each row has to be paired with the next one. On a Zen 4 that costs nearly what it saves: at best 0.93 of the time
// with windows of 3 x 3, 0.8 with 5 x 5, before what edges cost.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/operations/activation_epilogue.hpp>
#include <stagecraft/host/operations/convolution_shapes.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/convolution/depthwise_convolution.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <algorithm>

namespace stagecraft::cpu {

template <class L>
struct kernel_operation<layer_kernel::depthwise_convolution, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution =
        convolution_of(Call::layer, in[0], in[1], in[2], in[2] * Call::layer.options.depth_multiplier, in[2]);
    static constexpr int rows = Call::batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue =
        activation_epilogue<rows, convolution.filters, Call::layer.activation, Call::layer.options.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max({kernels::depthwise_convolution_workspace<s::convolution, typename s::arch>,
                     kernels::depthwise_convolution_input_gradient_workspace<s::convolution, typename s::arch>,
                     kernels::depthwise_convolution_filter_gradient_workspace<s::convolution, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [](Call const& part, float* y, auto const& epilogue) {
      kernels::depthwise_convolution<Call::batch, s::convolution, typename s::arch>(
          part.input(0), part.weight(0), part.memory.workspace, y, epilogue, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    s::epilogue::backward(call);
    call.divide([](Call const& part) {
      float* const dy = part.output_gradient();
      float* const workspace = part.memory.workspace;
      if constexpr (Call::wants_input_gradient(0))
        kernels::depthwise_convolution_input_gradient<Call::batch, s::convolution, Call::adds_input_gradient(0), arch>(
            dy, part.weight(0), workspace, part.input_gradient(0), part.share());
      if constexpr (Call::layer.trainable)
        kernels::depthwise_convolution_filter_gradient<Call::batch, s::convolution, Call::adds_parameter_gradient,
                                                       arch>(part.input(0), dy, workspace, part.parameter_gradient(0),
                                                             part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::convolution.filters, Call::adds_parameter_gradient, arch>(
            dy, part.parameter_gradient(1), part.share());
    });
  }
};

}  // namespace stagecraft::cpu
