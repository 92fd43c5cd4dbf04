// SPDX-License-Identifier: BSD-3-Clause
// The steps of separable_conv1d, separable_conv2d and depthwise_conv2d on the host. A separable convolution is a
// depthwise one and a product with the pointwise kernel.
//
// Where the processor multiplies pairs of bfloat16, those of the product are pairs. Depthwise convolutions multiply
// floats: a channel's pairs would be of taps, so that each row has to be paired with the next one. On a Zen 4 that
// costs nearly what it saves: at best 0.93 of the time with windows of 3 x 3, 0.8 with 5 x 5, without edges.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/layer_steps/activation_epilogue.hpp>
#include <stagecraft/host/layer_steps/convolution.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/kernels/convolution/depthwise_convolution.hpp>
#include <stagecraft/kernels/product/bfloat16_product.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace stagecraft::cpu {

struct separable_convolution_operation {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr int between = in.back() * Call::layer.options.depth_multiplier;  // channels between the steps
    static constexpr int filters = Call::layer.filters;
    static constexpr auto convolution =
        convolution_of(Call::layer, layer_type::height_of(in), layer_type::width_of(in), in.back(), between, in.back(),
                       Call::template zeros_around_input<0>);
    static constexpr int rows = Call::batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    using epilogue = activation_epilogue<rows, filters, Call::layer.activation, Call::layer.options.use_bias, arch>;

    /// Products multiply pairs of bfloat16, if that is faster. Packed factors lie in memory that threads share: the
    /// pointwise kernel's pairs of rows, then the rows of the forward step, or what the gradients need.
    static constexpr bool multiplies_pairs =
        multiplies_bfloat16<Call> && kernels::gains_by_pairs({rows, between, filters}, false);
    using gradients = gradients_of_pairs<rows, between, filters, arch>;
    static constexpr long long kernel_pairs =
        behind_factor(kernels::packed_matrix<kernels::pairs_of(between), filters, arch>::size);
    static constexpr long long shared_floats = [] {
      if constexpr (!multiplies_pairs)
        return 0LL;
      else
        return kernel_pairs + std::max(behind_factor(1LL * rows * kernels::pairs_of(between)),
                                       Call::plan::trains ? gradients::floats : 0LL);
    }();

    /// The output of the depthwise step; the sums with their bias stand before it, if they are kept.
    static float* depthwise_output(Call const& call) {
      return call.saved() + Call::layer.kept_sums(in, Call::batch, keeps_sums<Call>);
    }
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    using arch = typename s::arch;
    return s::shared_floats +
           std::max<long long>({kernels::depthwise_convolution_workspace<s::convolution, arch>,
                                kernels::depthwise_convolution_input_gradient_workspace<s::convolution, arch>,
                                kernels::depthwise_convolution_filter_gradient_workspace<s::convolution, arch>,
                                kernels::input_gradient_workspace<s::between, s::filters, arch>});
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    return shapes<Call>::shared_floats;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float* const between = s::depthwise_output(call);
    call.divide([&](Call const& part) {
      kernels::depthwise_convolution<Call::batch, s::convolution, arch>(
          part.input(0), part.weight(0), part.memory.workspace + s::shared_floats, between, {}, part.share());
    });
    float* const kernel = call.memory.shared_workspace();
    auto* const narrow = reinterpret_cast<std::uint16_t*>(kernel + s::kernel_pairs);
    if constexpr (s::multiplies_pairs)
      call.divide([=](Call const& part) {
        kernels::pack_row_pairs<s::between, s::filters, arch>(part.weight(1), kernel, part.share());
        kernels::narrow_rows<s::rows, s::between, arch>(between, narrow, part.share());
      });
    float const* const bias = Call::layer.options.use_bias ? call.weight(2) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    s::epilogue::forward(call, bias, before, call.output(), [&](Call const& part, float* y, auto const& epilogue) {
      if constexpr (s::multiplies_pairs)
        kernels::matmul_of_pairs<s::rows, s::between, s::filters, arch>(narrow, kernel, y, epilogue, part.share());
      else
        kernels::matmul<s::rows, s::between, s::filters, arch>(between, part.weight(1), y, epilogue, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    constexpr bool adds = Call::adds_parameter_gradient;
    float* const dy = call.output_gradient();
    float* const between = s::depthwise_output(call);
    s::epilogue::backward(call);
    using gradients = typename s::gradients;
    float *const kernel = call.memory.shared_workspace(), *const room = kernel + s::kernel_pairs;
    if constexpr (s::multiplies_pairs)
      call.divide([=](Call const& part) {
        kernels::pack_row_pairs<s::between, s::filters, arch>(part.weight(1), kernel, part.share());
        gradients::template make_factors<true, Call::layer.trainable>(between, dy, room, part.share());
      });
    call.divide([&](Call const& part) {
      if constexpr (s::multiplies_pairs) gradients::turn(kernel, room, part.share());
      if constexpr (Call::layer.trainable && s::multiplies_pairs)
        gradients::template find_weight_gradient<adds>(room, part.parameter_gradient(1), part.share());
      else if constexpr (Call::layer.trainable)
        kernels::matmul_weight_gradient<s::rows, s::between, s::filters, adds, arch>(
            between, dy, part.parameter_gradient(1), part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::filters, adds, arch>(dy, part.parameter_gradient(2), part.share());
    });
    // Its gradient takes the place of the first step's output.
    call.divide([&](Call const& part) {
      if constexpr (s::multiplies_pairs)
        gradients::find_input_gradient(room, between, kernels::no_epilogue{}, part.share());
      else
        kernels::matmul_input_gradient<s::rows, s::between, s::filters, false, arch>(
            dy, part.weight(1), part.memory.workspace, between, part.share());
    });
    call.divide([&](Call const& part) {
      float* const workspace = part.memory.workspace + s::shared_floats;
      if constexpr (Call::wants_input_gradient(0))
        kernels::depthwise_convolution_input_gradient<Call::batch, s::convolution, Call::adds_input_gradient(0), arch>(
            between, part.weight(0), workspace, part.input_gradient(0), part.share());
      if constexpr (Call::layer.trainable)
        kernels::depthwise_convolution_filter_gradient<Call::batch, s::convolution, adds, arch>(
            part.input(0), between, workspace, part.parameter_gradient(0), part.share());
    });
  }
};

template <class L>
struct kernel_steps<layer_kernel::separable_convolution, L> : separable_convolution_operation {};

template <class L>
struct kernel_steps<layer_kernel::depthwise_convolution, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution =
        convolution_of(Call::layer, in[0], in[1], in[2], in[2] * Call::layer.options.depth_multiplier, in[2],
                       Call::template zeros_around_input<0>);
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
