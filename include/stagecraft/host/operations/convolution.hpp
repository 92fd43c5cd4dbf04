// SPDX-License-Identifier: BSD-3-Clause
// The steps of conv1d and conv2d on the host.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/operations/activation_epilogue.hpp>
#include <stagecraft/host/operations/convolution_shapes.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/layers/convolutional/conv1d.hpp>
#include <stagecraft/layers/convolutional/conv2d.hpp>
#include <algorithm>
#include <type_traits>

namespace stagecraft::detail {

struct convolution_operation {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution = convolution_of(Call::layer, layer_type::height_of(in), layer_type::width_of(in),
                                                       in.back(), Call::layer.filters, Call::layer.options.groups);
    static constexpr int batch = Call::batch * in.size(0, in.rank() - layer_type::axes);
    static constexpr int rows = batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue =
        activation_epilogue<rows, convolution.filters, Call::layer.activation, Call::layer.options.use_bias, arch>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    constexpr long long forward = kernels::convolution_workspace<s::convolution, typename s::arch>;
    if constexpr (!Call::plan::trains)
      return forward;
    else
      return std::max({forward, kernels::convolution_input_gradient_workspace<s::convolution, typename s::arch>,
                       kernels::convolution_filter_gradient_workspace<s::convolution, typename s::arch>});
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [](Call const& part, float* y, auto const& epilogue) {
      kernels::convolution<s::batch, s::convolution, typename s::arch>(
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
        kernels::convolution_input_gradient<s::batch, s::convolution, Call::adds_input_gradient(0), arch>(
            dy, part.weight(0), workspace, part.input_gradient(0), input_gradient_epilogue(part), part.share());
      if constexpr (Call::layer.trainable)
        kernels::convolution_filter_gradient<s::batch, s::convolution, Call::adds_parameter_gradient, arch>(
            part.input(0), dy, workspace, part.parameter_gradient(0), part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::convolution.filters, Call::adds_parameter_gradient, arch>(
            dy, part.parameter_gradient(1), part.share());
    });
  }
};

}  // namespace stagecraft::detail

namespace stagecraft::cpu {

template <>
struct operation<layers::conv1d> : detail::convolution_operation {};
template <>
struct operation<layers::conv2d> : detail::convolution_operation {};

}  // namespace stagecraft::cpu
