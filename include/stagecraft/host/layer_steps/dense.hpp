// SPDX-License-Identifier: BSD-3-Clause
// The steps of dense on the host, which may update the kernel while its gradient is still in registers.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/layer_steps/activation_epilogue.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/layer_steps.hpp>
#include <stagecraft/host/steps/step_weights.hpp>
#include <stagecraft/kernels/product/byte_products.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <algorithm>

namespace stagecraft::cpu {

/// Updates a weight with the optimizer as soon as its gradient is known.
template <auto Optimizer, class Arch>
struct update_in_registers {
  /// Optimizers with a state divide by a root of it.
  static constexpr bool takes_long = slots_of<Optimizer> > 0;

  kernels::update_function<Optimizer, Arch> function;
  float* weights;
  float* slots;
  long long slot_stride;

  template <class Batch>
  [[gnu::always_inline]] inline void operator()(Batch const& gradient, int offset) const {
    constexpr int slot_count = slots_of<Optimizer>;
    Batch state[slot_count + 1];
    Batch weight = Batch::load_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = Batch::load_unaligned(slots + slot * slot_stride + offset);
    function(weight, gradient, state);
    weight.store_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + offset);
  }
};

template <class L>
struct kernel_steps<layer_kernel::product, L> {
  static constexpr bool has_phases = true;

  template <class Call>
  struct shapes {
    static constexpr int inputs = Call::input_shape(0).back();
    static constexpr int units = Call::layer.units;
    static constexpr int rows = Call::batch * (Call::input_shape(0).size() / inputs);
    /// Bytes have offsets of their own in place of a bias.
    static constexpr bool of_bytes = multiplies_bytes<Call>;
    using epilogue = activation_epilogue<rows, units, Call::layer.activation, Call::layer.options.use_bias && !of_bytes,
                                         typename Call::architecture>;
    /// Products of pairs of bfloat16.
    static constexpr bool multiplies_pairs = bfloat16_kernel_of_call<typename Call::plan, Call::call>::multiplies_pairs;
    static constexpr bool pads_inputs = multiplies_pairs && inputs % 2 != 0;
    static constexpr long long forward_floats = pads_inputs ? behind_factor(1LL * rows * kernels::pairs_of(inputs))
                                                : of_bytes  ? behind_factor(1LL * rows * kernels::quads_of(inputs))
                                                            : 0;
    /// The sum of one unit of one sample, with a copy of its weights one after the other.
    static constexpr bool is_dot = rows == 1 && units == 1 && Call::plan::threads == 1 && !multiplies_pairs &&
                                   !of_bytes && !is_half(Call::plan::stored) && !Call::plan::trains &&
                                   only_infers<Call::plan::training> && Call::plan::is_whole &&
                                   kernels::has_dot<inputs, typename Call::architecture>;
    using gradients = gradients_of_pairs<rows, inputs, units, typename Call::architecture>;
  };
  template <class Call, bool Backward>
  static constexpr bool widens_inputs =
      !shapes<Call>::multiplies_pairs || (Backward && Call::applied_activation(0) != linear);

  template <class Call>
  static constexpr long long workspace() {
    using s = shapes<Call>;
    using arch = typename Call::architecture;
    if constexpr (s::multiplies_pairs)
      return Call::plan::trains ? std::max(s::gradients::floats, s::forward_floats) : s::forward_floats;
    else if constexpr (!Call::plan::trains)
      return s::forward_floats;
    else
      return std::max(kernels::input_gradient_workspace<s::inputs, s::units, arch>,
                      kernels::weight_gradient_workspace<s::rows, s::inputs, s::units, arch>);
  }

  template <class Call>
  static constexpr long long shared_workspace() {
    return shapes<Call>::multiplies_pairs || shapes<Call>::of_bytes ? workspace<Call>() : 0;
  }
  /// See prepared_weights: the kernel of bytes, or the weights of one unit.
  template <class Call>
  static constexpr long long prepared_floats() {
    if constexpr (multiplies_bytes<Call>)
      return byte_kernel_of<Call>::floats;
    else
      return shapes<Call>::is_dot ? shapes<Call>::inputs : 0;
  }
  template <class Call>
  static void prepare(Call const& call, float* to) {
    if constexpr (multiplies_bytes<Call>)
      byte_kernel_of<Call>::pack(call.weight(0), Call::layer.options.use_bias ? call.weight(1) : nullptr,
                                 -Call::layer.options.input_bytes.least, to);
    else
      kernels::packed_matrix<shapes<Call>::inputs, 1, typename Call::architecture>::unpack(call.weight(0), to);
  }

  /// See call_steps. Softmax reads its row in whole registers.
  template <class Call>
  static constexpr bool stays_in_bounds() {
    return !shapes<Call>::multiplies_pairs && !shapes<Call>::of_bytes && shapes<Call>::epilogue::in_registers;
  }
  template <class Call>
  static constexpr bool writes_last() {
    return shapes<Call>::rows == 1 &&
           shapes<Call>::units <=
               kernels::packed_matrix<1, shapes<Call>::units, typename Call::architecture>::panel_columns;
  }

  template <class Call>
  static void forward(Call const& call) {
    using s = shapes<Call>;
    float const* const bias = Call::layer.options.use_bias ? call.weight(1) : nullptr;
    float* const before = Call::has_saved ? call.saved() : nullptr;
    if constexpr (s::multiplies_pairs && s::pads_inputs)
      call.divide([](Call const& part) {
        kernels::pad_rows<s::rows, s::inputs, typename Call::architecture>(part.stored_input(0), padded(part),
                                                                           part.share());
      });
    if constexpr (s::of_bytes)
      call.divide([](Call const& part) {
        auto const [first, last] = part.share().of(s::rows);
        kernels::rows_to_bytes<s::inputs, typename Call::architecture>(
            part.input(0) + first * s::inputs, static_cast<float>(-Call::layer.options.input_bytes.least),
            bytes(part) + 4 * kernels::quads_of(s::inputs) * first, last - first);
      });
    s::epilogue::forward(call, bias, before, call.output(), [](Call const& part, float* y, auto const& epilogue) {
      if constexpr (s::of_bytes)
        kernels::matmul_of_bytes<s::rows, s::inputs, s::units, typename Call::architecture>(
            bytes(part), part.memory.prepared + prepared_place<typename Call::plan, Call::call>, y, epilogue,
            part.share());
      else if constexpr (s::multiplies_pairs)
        kernels::matmul_of_pairs<s::rows, s::inputs, s::units, typename Call::architecture>(
            s::pads_inputs ? padded(part) : part.stored_input(0), part.weight(0), y, epilogue, part.share());
      else if constexpr (s::is_dot)
        kernels::dot<s::inputs, typename Call::architecture>(
            part.input(0), part.memory.prepared + prepared_place<typename Call::plan, Call::call>, y, epilogue);
      else
        kernels::matmul<s::rows, s::inputs, s::units, typename Call::architecture>(part.input(0), part.weight(0), y,
                                                                                   epilogue, part.share());
    });
  }

  template <class Call>
  static void backward(Call const& call) {
    using s = shapes<Call>;
    using arch = typename Call::architecture;
    s::epilogue::backward(call);
    if constexpr (s::multiplies_pairs) return backward_in_pairs(call);
    if constexpr (Call::plan::fuses_update(Call::call, 0) && Call::wants_input_gradient(0))
      call.divide([](Call const& part) { find_input_gradient(part); });  // before the weights change
    call.divide([](Call const& part) {
      float* const dy = part.output_gradient();
      if constexpr (Call::plan::fuses_update(Call::call, 0)) {
        constexpr auto optimizer = Call::template optimizer<0>;
        auto const& memory = part.memory;
        kernels::matmul_weight_gradient_of_rows<s::rows, s::inputs, s::units, false, arch>(
            part.input(0), dy, memory.workspace,
            update_in_registers<optimizer, arch>{
                kernels::update_function<optimizer, arch>(memory.learning_rate, memory.update),
                memory.weights + Call::weight_offset(0), memory.slots + Call::weight_offset(0),
                Call::plan::weights.floats},
            part.share());
      } else {
        if constexpr (Call::wants_input_gradient(0)) find_input_gradient(part);
        if constexpr (Call::layer.trainable)
          kernels::matmul_weight_gradient<s::rows, s::inputs, s::units, Call::adds_parameter_gradient, arch>(
              part.input(0), dy, part.parameter_gradient(0), part.share());
      }
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::units, Call::adds_parameter_gradient, arch>(dy, part.parameter_gradient(1),
                                                                                       part.share());
    });
  }

 private:
  template <class Call>
  using byte_kernel_of = kernels::byte_kernel<shapes<Call>::inputs, shapes<Call>::units, shapes<Call>::inputs, 1,
                                              typename Call::architecture>;
  template <class Call>
  static std::uint8_t* bytes(Call const& call) {
    return reinterpret_cast<std::uint8_t*>(call.memory.shared_workspace());
  }
  template <class Call>
  static std::uint16_t* padded(Call const& call) {
    return reinterpret_cast<std::uint16_t*>(call.memory.shared_workspace());
  }
  template <class Call>
  static void backward_in_pairs(Call const& call) {
    using s = shapes<Call>;
    using gradients = typename s::gradients;
    float* const room = call.memory.shared_workspace();
    call.divide([=](Call const& part) {
      if constexpr (Call::wants_input_gradient(0)) gradients::turn(part.weight(0), room, part.share());
      gradients::template make_factors<Call::wants_input_gradient(0), Call::layer.trainable>(
          part.stored_input(0), part.output_gradient(), room, part.share());
    });
    call.divide([=](Call const& part) {
      if constexpr (Call::wants_input_gradient(0))
        gradients::find_input_gradient(room, part.input_gradient(0), input_gradient_epilogue(part), part.share());
      if constexpr (Call::layer.trainable)
        gradients::template find_weight_gradient<Call::adds_parameter_gradient>(room, part.parameter_gradient(0),
                                                                                part.share());
      if constexpr (Call::layer.options.use_bias && Call::layer.trainable)
        kernels::bias_gradient<s::rows, s::units, Call::adds_parameter_gradient, typename Call::architecture>(
            part.output_gradient(), part.parameter_gradient(1), part.share());
    });
  }
  template <class Call>
  static void find_input_gradient(Call const& part) {
    using s = shapes<Call>;
    kernels::matmul_input_gradient<s::rows, s::inputs, s::units, Call::adds_input_gradient(0),
                                   typename Call::architecture>(part.output_gradient(), part.weight(0),
                                                                part.memory.workspace, part.input_gradient(0),
                                                                input_gradient_epilogue(part), part.share());
  }
};

}  // namespace stagecraft::cpu
