// SPDX-License-Identifier: BSD-3-Clause
// The steps of dense on the host. Level 5.
#pragma once

#include <stagecraft/execution/operation.hpp>
#include <stagecraft/kernels/activation.hpp>
#include <stagecraft/kernels/matmul.hpp>
#include <stagecraft/kernels/matmul_gradient.hpp>
#include <stagecraft/kernels/softmax.hpp>
#include <stagecraft/kernels/update.hpp>
#include <stagecraft/layers/dense.hpp>

namespace stagecraft {

namespace detail {

/// Updates a weight with the optimizer as soon as its gradient is known.
template <auto Optimizer, class Arch>
struct update_in_registers {
  kernels::update_function<Optimizer, Arch> function;
  float* weights;
  float* slots;
  long long slot_stride;

  template <class Batch>
  void operator()(Batch const& gradient, int offset) const {
    constexpr int slot_count = Optimizer.slots();
    Batch state[slot_count + 1];
    Batch weight = Batch::load_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = Batch::load_unaligned(slots + slot * slot_stride + offset);
    function(weight, gradient, state);
    weight.store_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + offset);
  }
};

/// The products of a dense layer: one instantiation per shape, not per layer.
template <int Rows, int Inputs, int Units, activation Act, bool UseBias, class Arch>
struct dense_kernels {
  static constexpr bool in_registers = Act.kind != activation_kind::softmax;

  /// y = act(x * w + bias); if `sums` is not null, x * w + bias is kept there.
  static void forward(float const* x, float const* w, [[maybe_unused]] float const* bias, float* sums, float* y) {
    if (sums != nullptr || !in_registers) {
      float* const before = sums != nullptr ? sums : y;
      product(x, w, bias, before, [](auto const& sum) { return sum; });
      if constexpr (in_registers)
        kernels::activation_forward<Act, Arch>(before, y, static_cast<long long>(Rows) * Units);
      else
        kernels::softmax<Rows, Units, Arch>(before, y);
    } else if constexpr (in_registers) {
      product(x, w, bias, y, [](auto const& sum) { return kernels::activation_function<Act, Arch>::forward(sum); });
    }
  }

  /// dy becomes the gradient of x * w + bias.
  static void activation_backward(float const* saved, float* dy) {
    if constexpr (!in_registers)
      kernels::softmax_gradient<Rows, Units, false, Arch>(saved, dy, dy);
    else if constexpr (Act != linear)
      kernels::activation_backward<Act, false, Arch>(saved, dy, dy, static_cast<long long>(Rows) * Units);
  }

 private:
  static void product(float const* x, float const* w, [[maybe_unused]] float const* bias, float* y, auto function) {
    if constexpr (UseBias)
      kernels::matmul<Rows, Inputs, Units, Arch>(x, w, y,
                                                 kernels::epilogue_then{kernels::bias_epilogue{bias}, function});
    else
      kernels::matmul<Rows, Inputs, Units, Arch>(x, w, y, kernels::epilogue_then{kernels::no_epilogue{}, function});
  }
};

}  // namespace detail

template <>
struct operation<layers::dense> {
  template <class Call>
  struct shapes {
    static constexpr int inputs = Call::input_shape(0).back();
    static constexpr int units = Call::layer.units;
    static constexpr int rows = Call::batch * (Call::input_shape(0).size() / inputs);
    using kernels = detail::dense_kernels<rows, inputs, units, Call::layer.activation, Call::layer.use_bias,
                                          typename Call::architecture>;
  };

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    return kernels::input_gradient_workspace<s::inputs, s::units, typename Call::architecture>;
  }

  template <class Call>
  static void forward(Call const& call) {
    shapes<Call>::kernels::forward(call.input(0), call.weight(0), Call::layer.use_bias ? call.weight(1) : nullptr,
                                   Call::trains && Call::planned.saved >= 0 ? call.saved() : nullptr, call.output());
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename Call::architecture;
    float* const dy = call.output_gradient();
    s::kernels::activation_backward(Call::planned.saved >= 0 ? call.saved() : call.output(), dy);
    if constexpr (Call::wants_input_gradient(0))
      kernels::matmul_input_gradient<s::rows, s::inputs, s::units, Call::adds_input_gradient(0), arch>(
          dy, call.weight(0), call.memory.workspace, call.input_gradient(0));
    if constexpr (Call::plan::fuses_update(Call::call, 0)) {
      constexpr auto optimizer = Call::plan::training.optimizer;
      auto const& memory = call.memory;
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, false, arch>(
          call.input(0), dy, nullptr,
          detail::update_in_registers<optimizer, arch>{
              kernels::update_function<optimizer, arch>(memory.learning_rate, memory.update),
              memory.weights + Call::weight_offset(0), memory.slots + Call::weight_offset(0),
              Call::plan::weights.floats});
    } else {
      kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, Call::adds_parameter_gradient, arch>(
          call.input(0), dy, call.parameter_gradient(0));
    }
    if constexpr (Call::layer.use_bias)
      kernels::bias_gradient<s::rows, s::units, Call::adds_parameter_gradient, arch>(dy, call.parameter_gradient(1));
  }
};

}  // namespace stagecraft
