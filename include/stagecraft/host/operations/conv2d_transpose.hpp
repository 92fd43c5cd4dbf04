// SPDX-License-Identifier: BSD-3-Clause
// The steps of conv2d_transpose on the host: those of the convolution that leads from its output to its input, in the
// other direction.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/operations/activation_epilogue.hpp>
#include <stagecraft/host/operations/convolution_shapes.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/layers/convolutional/conv2d_transpose.hpp>
#include <algorithm>

namespace stagecraft::cpu {

template <>
struct operation<layers::conv2d_transpose> {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr shape const& out = Call::output_shape();
    static constexpr auto back = detail::convolution_of(Call::layer, out[0], out[1], out[2], in[2]);
    static_assert(back.output_height() == in[0] && back.output_width() == in[1]);
    static constexpr int filters = Call::layer.filters;
    static constexpr int rows = Call::batch * out[0] * out[1];
    using arch = typename Call::architecture;
    using epilogue =
        detail::activation_epilogue<rows, filters, Call::layer.activation, Call::layer.options.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return std::max({kernels::convolution_workspace<s::back, typename s::arch>,
                     kernels::convolution_input_gradient_workspace<s::back, typename s::arch>,
                     kernels::convolution_filter_gradient_workspace<s::back, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = detail::keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [](Call const& part, float* y, auto const& epilogue) {
      kernels::convolution_input_gradient<Call::batch, s::back, false, arch>(
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
        kernels::convolution<Call::batch, s::back, Call::adds_input_gradient(0), arch>(
            dy, part.weight(0), workspace, part.input_gradient(0), detail::input_gradient_epilogue(part), part.share());
      if constexpr (Call::layer.trainable)
        kernels::convolution_filter_gradient<Call::batch, s::back, Call::adds_parameter_gradient, arch>(
            dy, part.input(0), workspace, part.parameter_gradient(0), part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::filters, Call::adds_parameter_gradient, arch>(dy, part.parameter_gradient(1),
                                                                                         part.share());
    });
  }
};

}  // namespace stagecraft::cpu
