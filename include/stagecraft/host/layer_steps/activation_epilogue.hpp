// SPDX-License-Identifier: BSD-3-Clause
// What follows the sums of a layer with a kernel, such as dense or conv2d: bias and activation, forward and backward.
#pragma once

#include <stagecraft/host/steps/step_epilogue.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/normalization/softmax.hpp>

namespace stagecraft::cpu {

/// Finishes the gradient of a backward step's first input before it is stored: applies the gradient of the activation
/// of the layer that made the input, if the plan says so.
template <class Call>
[[nodiscard]] auto input_gradient_epilogue([[maybe_unused]] Call const& call) {
  constexpr auto function = Call::applied_activation(0);
  if constexpr (function == linear)
    return kernels::no_epilogue{};
  else
    return kernels::activation_gradient_epilogue<function, typename Call::architecture>{call.input(0)};
}

/// y = act(sums + bias) for Rows x Columns sums. One instantiation per shape, not per layer, of what is costly to
/// compile: epilogues are types that name no call.
template <int Rows, int Columns, activation Act, bool UseBias, class Arch>
struct activation_epilogue {
  static constexpr bool in_registers = Act.kind != activation_kind::softmax;
  static constexpr long long floats = static_cast<long long>(Rows) * Columns;

  /// `product(call, y, epilogue)` writes the share of a call of the sums, each through the epilogue, in which those of
  /// other calls come last. While training, sums + bias are kept in `before` if the activation's gradient needs them.
  /// `bias` is read if UseBias.
  template <class Call, class Product>
  static void forward(Call const& call, float const* bias, [[maybe_unused]] float* before, float* y,
                      Product const& product) {
    if constexpr (Act == linear) {
      call.divide(
          [&](Call const& part) { product(part, y, kernels::join_epilogues(with_bias(bias), epilogues_of(part))); });
    } else if constexpr (!in_registers) {
      call.divide([&](Call const& part) { product(part, y, with_bias(bias)); });
      call.divide([&](Call const& part) { kernels::softmax<Rows, Columns, Arch>(y, y, part.share()); });
    } else if constexpr (!Call::plan::trains || !Act.gradient_needs_input()) {
      call.divide([&](Call const& part) {
        product(
            part, y,
            kernels::join_epilogues(kernels::epilogue_then{with_bias(bias), epilogue_of_activation<Call, Act, Arch>{}},
                                    epilogues_of(part)));
      });
    } else {
      call.divide([&](Call const& part) { product(part, before, with_bias(bias)); });
      call.divide([&](Call const& part) {
        auto const [first, last] = part.elements(floats);
        kernels::activation_forward<Act, Arch>(before + first, y + first, last - first);
      });
    }
  }

  /// dy becomes the gradient of sums + bias, unless it is that already.
  template <class Call>
  static void backward(Call const& call) {
    float const* const saved = Act.gradient_needs_input() ? call.saved() : call.output();
    float* const dy = call.output_gradient();
    if constexpr (Call::planned.activation_in_consumer) {
    } else if constexpr (!in_registers) {
      call.divide([&](Call const& part) {
        kernels::softmax_gradient<Rows, Columns, false, Arch>(saved, dy, dy, part.share());
      });
    } else if constexpr (Act != linear) {
      call.divide([&](Call const& part) {
        auto const [first, last] = part.elements(floats);
        kernels::activation_backward<Act, false, Arch>(saved + first, dy + first, dy + first, last - first);
      });
    }
  }

 private:
  static auto with_bias([[maybe_unused]] float const* bias) {
    if constexpr (UseBias)
      return kernels::bias_epilogue{bias};
    else
      return kernels::no_epilogue{};
  }
};

}  // namespace stagecraft::cpu
