// SPDX-License-Identifier: BSD-3-Clause
// The steps of conv1d, conv2d and conv2d_transpose on the host. Those of a transposed convolution are those of the
// convolution that leads from its output to its input, in the other direction.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/host/layer_steps/activation_epilogue.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/host/steps/step_weights.hpp>
#include <stagecraft/kernels/convolution/bfloat16_convolution.hpp>
#include <stagecraft/kernels/convolution/byte_convolution.hpp>
#include <stagecraft/kernels/convolution/convolution.hpp>
#include <stagecraft/kernels/convolution/convolution_filter_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_input_gradient.hpp>
#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/layers/convolutional/convolution_layer.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace stagecraft::cpu {

/// The convolution that the windows of a layer make of an image, or of a sequence, of a given size, with zeros above,
/// left, below and right.
template <class Derived, class Size, class Options>
constexpr kernels::convolution_shape convolution_of(layers::convolution_layer<Derived, Size, Options> const& layer,
                                                    int height, int width, int channels, int filters, int groups = 1,
                                                    std::array<int, 4> const& around = {}) {
  auto const rows = layer.rows(height + around[0] + around[2]), columns = layer.columns(width + around[1] + around[3]);
  return {.height = height,
          .width = width,
          .channels = channels,
          .filters = filters,
          .kernel_height = rows.window,
          .kernel_width = columns.window,
          .stride_height = rows.stride,
          .stride_width = columns.stride,
          .dilation_height = rows.dilation,
          .dilation_width = columns.dilation,
          .groups = groups,
          .top = rows.before() + around[0],
          .left = columns.before() + around[1],
          .bottom = rows.after() + around[2],
          .right = columns.after() + around[3]};
}

/// The place in its memory where a layer with an activation keeps sums + bias from forward to backward, if it does.
template <class Call>
constexpr bool keeps_sums = Call::plan::trains && Call::layer.activation.gradient_needs_input();

struct convolution_operation {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    using layer_type = std::remove_cvref_t<decltype(Call::layer)>;
    static constexpr shape const& in = Call::input_shape(0);
    static constexpr auto convolution =
        convolution_of(Call::layer, layer_type::height_of(in), layer_type::width_of(in), in.back(), Call::layer.filters,
                       Call::layer.options.groups, Call::template zeros_around_input<0>);
    static constexpr int batch = Call::batch * in.size(0, in.rank() - layer_type::axes);
    static constexpr int rows = batch * convolution.output_height() * convolution.output_width();
    using arch = typename Call::architecture;
    /// Bytes have offsets of their own in place of a bias.
    static constexpr bool of_bytes = multiplies_bytes<Call>;
    using epilogue = activation_epilogue<rows, convolution.filters, Call::layer.activation,
                                         Call::layer.options.use_bias && !of_bytes, arch>;
    /// Products multiply pairs of bfloat16: of channels; of filters for the gradient of the input; of samples, if there
    /// are two, for the gradient of the filters. Packed factors lie one after the other in memory that threads share.
    static constexpr bool multiplies_pairs = bfloat16_kernel_of_call<typename Call::plan, Call::call>::multiplies_pairs;
    static constexpr int channels = convolution.group_channels(), filters = convolution.group_filters(),
                         input_rows = batch * convolution.height * convolution.width * convolution.groups,
                         output_rows = rows * convolution.groups;
    static constexpr bool pads_inputs = multiplies_pairs && channels % 2 != 0;
    static constexpr bool pairs_samples = multiplies_bfloat16<Call> && batch > 1 &&
                                          Call::plan::model_plan.calls[Call::input_call(0)].stored == dtype::bfloat16;
    static constexpr long long own_floats = [] {
      constexpr long long forward = kernels::convolution_workspace<convolution, arch>;
      if constexpr (!Call::plan::trains)
        return forward;
      else
        return std::max({forward, kernels::convolution_input_gradient_workspace<convolution, arch>,
                         kernels::convolution_filter_gradient_workspace<convolution, arch>});
    }();
    static constexpr bool turns_filters = multiplies_pairs && Call::plan::trains && Call::wants_input_gradient(0);
    static constexpr bool finds_filter_gradient_of_pairs = pairs_samples && Call::plan::trains && Call::layer.trainable;
    static constexpr long long turned_floats = [] {
      if constexpr (turns_filters)
        return kernels::turned_filter_floats<convolution, arch>;
      else
        return 0LL;
    }();
    static constexpr long long batch_pairs = finds_filter_gradient_of_pairs ? kernels::pairs_of(batch) : 0;
    static constexpr long long
        padded_inputs = pads_inputs ? behind_factor(1LL * input_rows * kernels::pairs_of(channels)) : 0,
        turned_filters = turns_filters ? behind_factor(1LL * output_rows * kernels::pairs_of(filters)) : 0,
        gradient_pairs = turned_filters + (turns_filters ? behind_factor(turned_floats) : 0),
        input_pairs = gradient_pairs + (batch_pairs > 0 ? behind_factor(batch_pairs * convolution.output_size()) : 0),
        behind_pairs = input_pairs + (batch_pairs > 0 ? behind_factor(batch_pairs * convolution.input_size()) : 0),
        byte_floats = of_bytes ? behind_factor(kernels::byte_picture_floats<batch, convolution>) : 0,
        shared_floats = std::max({padded_inputs, behind_pairs, byte_floats});
  };
  template <class Call, bool Backward>
  static constexpr bool widens_inputs =
      Backward ? Call::applied_activation(0) != linear || (Call::layer.trainable && !shapes<Call>::pairs_samples)
               : !shapes<Call>::multiplies_pairs;

  template <class Call>
  static constexpr long long workspace() {
    return shapes<Call>::shared_floats + shapes<Call>::own_floats;
  }
  template <class Call>
  static constexpr long long shared_workspace() {
    return shapes<Call>::shared_floats;
  }

  /// See prepared_weights: the kernel of bytes.
  template <class Call>
  static constexpr long long prepared_floats() {
    using s = shapes<Call>;
    if constexpr (multiplies_bytes<Call>)
      return kernels::byte_filter_floats<s::convolution, typename s::arch>;
    else
      return 0;
  }
  template <class Call>
  static void prepare(Call const& call, float* to) {
    using s = shapes<Call>;
    kernels::pack_byte_filter<s::convolution, typename s::arch>(call.weight(0),
                                                                Call::layer.options.use_bias ? call.weight(1) : nullptr,
                                                                -Call::layer.options.input_bytes.least, to);
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = keeps_sums<Call> ? call.saved() : nullptr;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(call.memory.shared_workspace());
    if constexpr (s::of_bytes)
      call.divide([=](Call const& part) {
        kernels::picture_to_bytes<s::batch, s::convolution, typename s::arch>(
            part.input(0), -Call::layer.options.input_bytes.least, bytes, part.share());
      });
    auto* const padded = reinterpret_cast<std::uint16_t*>(call.memory.shared_workspace());
    if constexpr (s::pads_inputs)
      call.divide([=](Call const& part) {
        kernels::pad_rows<s::input_rows, s::channels, typename s::arch>(part.stored_input(0), padded, part.share());
      });
    s::epilogue::forward(call, bias, before, call.output(), [=](Call const& part, float* y, auto const& epilogue) {
      if constexpr (s::of_bytes)
        kernels::convolution_of_bytes<s::batch, s::convolution, typename s::arch>(
            bytes, part.memory.prepared + prepared_place<typename Call::plan, Call::call>, y, epilogue, part.share());
      else if constexpr (s::multiplies_pairs)
        kernels::convolution_of_pairs<s::batch, s::convolution, typename s::arch>(
            s::pads_inputs ? padded : part.stored_input(0), part.weight(0), y, epilogue, part.share());
      else
        kernels::convolution<s::batch, s::convolution, typename s::arch>(
            part.input(0), part.weight(0), part.memory.workspace + s::shared_floats, y, epilogue, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename s::arch;
    s::epilogue::backward(call);
    float* const room = call.memory.shared_workspace();
    auto* const narrow = reinterpret_cast<std::uint16_t*>(room);
    float *const turned = room + s::turned_filters, *const gradient_pairs = room + s::gradient_pairs,
                 *const input_pairs = room + s::input_pairs;
    if constexpr (s::turns_filters || s::finds_filter_gradient_of_pairs)
      call.divide([=](Call const& part) {
        float const* const dy = part.output_gradient();
        if constexpr (s::turns_filters) {
          kernels::narrow_rows<s::output_rows, s::filters, arch>(dy, narrow, part.share());
          kernels::turn_filter_pairs<s::convolution, arch>(part.weight(0), turned, part.share());
        }
        if constexpr (s::finds_filter_gradient_of_pairs) {
          kernels::pair_rows<s::batch, s::convolution.input_size(), arch>(part.stored_input(0), input_pairs,
                                                                          part.share());
          kernels::pair_rows<s::batch, s::convolution.output_size(), arch>(dy, gradient_pairs, part.share());
        }
      });
    call.divide([=](Call const& part) {
      float* const dy = part.output_gradient();
      float* const workspace = part.memory.workspace + s::shared_floats;
      if constexpr (s::turns_filters)
        kernels::convolution_input_gradient_of_pairs<s::batch, s::convolution, Call::adds_input_gradient(0), arch>(
            narrow, turned, workspace, part.input_gradient(0), input_gradient_epilogue(part), part.share());
      else if constexpr (Call::wants_input_gradient(0))
        kernels::convolution_input_gradient<s::batch, s::convolution, Call::adds_input_gradient(0), arch>(
            dy, part.weight(0), workspace, part.input_gradient(0), input_gradient_epilogue(part), part.share());
      if constexpr (s::finds_filter_gradient_of_pairs)
        kernels::convolution_filter_gradient_of_pairs<s::batch, s::convolution, Call::adds_parameter_gradient, arch>(
            input_pairs, gradient_pairs, workspace, part.parameter_gradient(0), part.share());
      else if constexpr (Call::layer.trainable)
        kernels::convolution_filter_gradient<s::batch, s::convolution, Call::adds_parameter_gradient, arch>(
            part.input(0), dy, workspace, part.parameter_gradient(0), part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::convolution.filters, Call::adds_parameter_gradient, arch>(
            dy, part.parameter_gradient(1), part.share());
    });
  }
};

template <class L>
struct kernel_steps<layer_kernel::convolution, L> : convolution_operation {};

template <class L>
struct kernel_steps<layer_kernel::transposed_convolution, L> {
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
    /// Products multiply pairs of bfloat16: of the input's channels; of filters for the gradient of the input; of
    /// samples for the gradient of the kernel. Packed factors lie one after the other in memory that threads share.
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
