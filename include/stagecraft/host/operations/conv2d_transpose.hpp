// SPDX-License-Identifier: BSD-3-Clause
// The steps of conv2d_transpose on the host: those of the convolution that leads from its output to its input, in the
// other direction.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/operations/activation_epilogue.hpp>
#include <stagecraft/host/operations/convolution_shapes.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/operation.hpp>
#include <stagecraft/kernels/convolution/bfloat16_convolution.hpp>
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <algorithm>
#include <cstdint>

namespace stagecraft::cpu {

template <class L>
struct kernel_operation<layer_kernel::transposed_convolution, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr shape const& out = Call::output_shape();
    static constexpr auto back = convolution_of(Call::layer, out[0], out[1], out[2], in[2]);
    static_assert(back.output_height() == in[0] && back.output_width() == in[1]);
    static constexpr int filters = Call::layer.filters;
    static constexpr int rows = Call::batch * out[0] * out[1];
    using arch = typename Call::architecture;
    using epilogue = activation_epilogue<rows, filters, Call::layer.activation, Call::layer.options.use_bias, arch>;
    /// Products of pairs of bfloat16: of the input's channels, of filters for its gradient, and of samples for that of
    /// the kernel. What is made of factors lies behind each other, where threads share it.
    static constexpr int batch = Call::batch, channels = in[2], input_rows = batch * in[0] * in[1];
    static constexpr bool multiplies_pairs = bfloat16_kernel_of_call<typename Call::plan, Call::call>::multiplies_pairs;
    static constexpr bool pads_inputs = multiplies_pairs && channels % 2 != 0;
    static constexpr bool pairs_samples = multiplies_bfloat16<Call> && batch > 1 &&
                                          Call::plan::model_plan.calls[Call::input_call(0)].stored == dtype::bfloat16;
    static constexpr bool narrows_gradient = multiplies_pairs && Call::plan::trains && Call::wants_input_gradient(0);
    static constexpr bool finds_filter_gradient_of_pairs = pairs_samples && Call::plan::trains && Call::layer.trainable;
    static constexpr long long turned_floats = [] {
      if constexpr (multiplies_pairs)
        return behind_factor(kernels::turned_filter_floats<back, arch>);
      else
        return 0LL;
    }();
    static constexpr long long pairs = finds_filter_gradient_of_pairs ? kernels::pairs_of(batch) : 0;
    static constexpr long long forward_floats =
                                   turned_floats +
                                   (pads_inputs ? behind_factor(1LL * input_rows * kernels::pairs_of(channels)) : 0),
                               gradient_pairs =
                                   narrows_gradient ? behind_factor(1LL * rows * kernels::pairs_of(filters)) : 0,
                               input_pairs =
                                   gradient_pairs + (pairs > 0 ? behind_factor(pairs * back.input_size()) : 0),
                               backward_floats =
                                   input_pairs + (pairs > 0 ? behind_factor(pairs * back.output_size()) : 0),
                               shared_floats = std::max(forward_floats, backward_floats);
  };
  template <class Call, bool Backward>
  static constexpr bool widens_inputs =
      Backward ? Call::applied_activation(0) != linear || (Call::layer.trainable && !shapes<Call>::pairs_samples)
               : !shapes<Call>::multiplies_pairs;

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return s::shared_floats + std::max({kernels::convolution_workspace<s::back, typename s::arch>,
                                        kernels::convolution_input_gradient_workspace<s::back, typename s::arch>,
                                        kernels::convolution_filter_gradient_workspace<s::back, typename s::arch>});
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    return shapes<Call>::shared_floats;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    float* const turned = call.memory.shared_workspace();
    auto* const padded = reinterpret_cast<std::uint16_t*>(turned + s::turned_floats);
    if constexpr (s::multiplies_pairs)
      call.divide([=](Call const& part) {
        kernels::turn_filter_pairs<s::back, arch>(part.weight(0), turned, part.share());
        if constexpr (s::pads_inputs)
          kernels::pad_rows<s::input_rows, s::channels, arch>(part.stored_input(0), padded, part.share());
      });
    s::epilogue::forward(call, bias, before, call.output(), [=](Call const& part, float* y, auto const& epilogue) {
      float* const workspace = part.memory.workspace + s::shared_floats;
      if constexpr (s::multiplies_pairs)
        kernels::convolution_input_gradient_of_pairs<s::batch, s::back, false, arch>(
            s::pads_inputs ? padded : part.stored_input(0), turned, workspace, y, epilogue, part.share());
      else
        kernels::convolution_input_gradient<s::batch, s::back, false, arch>(part.input(0), part.weight(0), workspace, y,
                                                                            epilogue, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    s::epilogue::backward(call);
    float* const room = call.memory.shared_workspace();
    auto* const narrow = reinterpret_cast<std::uint16_t*>(room);
    float *const gradient_pairs = room + s::gradient_pairs, *const input_pairs = room + s::input_pairs;
    if constexpr (s::narrows_gradient || s::finds_filter_gradient_of_pairs)
      call.divide([=](Call const& part) {
        float* const dy = part.output_gradient();
        if constexpr (s::narrows_gradient) kernels::narrow_rows<s::rows, s::filters, arch>(dy, narrow, part.share());
        if constexpr (s::finds_filter_gradient_of_pairs) {
          kernels::pair_rows<s::batch, s::back.input_size(), arch>(dy, gradient_pairs, part.share());
          kernels::pair_rows<s::batch, s::back.output_size(), arch>(part.stored_input(0), input_pairs, part.share());
        }
      });
    call.divide([=](Call const& part) {
      float* const dy = part.output_gradient();
      float* const workspace = part.memory.workspace + s::shared_floats;
      if constexpr (s::narrows_gradient)
        kernels::convolution_of_pairs<s::batch, s::back, Call::adds_input_gradient(0), arch>(
            narrow, part.weight(0), part.input_gradient(0), input_gradient_epilogue(part), part.share());
      else if constexpr (Call::wants_input_gradient(0))
        kernels::convolution<s::batch, s::back, Call::adds_input_gradient(0), arch>(
            dy, part.weight(0), workspace, part.input_gradient(0), input_gradient_epilogue(part), part.share());
      if constexpr (s::finds_filter_gradient_of_pairs)
        kernels::convolution_filter_gradient_of_pairs<s::batch, s::back, Call::adds_parameter_gradient, arch>(
            gradient_pairs, input_pairs, workspace, part.parameter_gradient(0), part.share());
      else if constexpr (Call::layer.trainable)
        kernels::convolution_filter_gradient<s::batch, s::back, Call::adds_parameter_gradient, arch>(
            dy, part.input(0), workspace, part.parameter_gradient(0), part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::filters, Call::adds_parameter_gradient, arch>(dy, part.parameter_gradient(1),
                                                                                         part.share());
    });
  }
};

}  // namespace stagecraft::cpu
