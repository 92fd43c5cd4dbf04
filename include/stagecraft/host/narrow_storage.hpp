// SPDX-License-Identifier: BSD-3-Clause
// Values and weights in 16 bits on the host. Each step finds its tensors widened to floats in a room of its device, and
// what it has written there is narrowed where the plan says. Steps read rounded copies of the weights, or variables
// that are rounded themselves, in memory for floats. Keras counterparts: the casts of tf.keras.mixed_precision,
// AutoCastVariable, and variables of the policies float16 and bfloat16.
#pragma once

#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <stagecraft/plan/recomputation.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace stagecraft::cpu {

/// `Plan` is that of a pass. Gradients of weights, and what layers keep for themselves, are floats all the same.
template <class Plan>
class narrow_storage {
  using architecture = typename Plan::architecture;
  using session = session_shape<typename Plan::job::described>;
  static constexpr auto const& graph = Plan::graph;
  static constexpr dtype type = Plan::stored;

 public:
  /// A layer's step, which `run(memory)` carries out.
  template <int Call, bool Backward, class Run>
  static void step(pass_memory const& memory, Run const& run) {
    using places = widened_step<Plan, Call>;
    constexpr auto const& planned = Plan::model_plan.calls[Call];
    divide_work(memory, [](pass_memory const& own) {
      if constexpr ((!Backward || backward_reads(planned).inputs) && widens_inputs<Call, Backward>)
        for (int i = 0; i < places::node.input_count; ++i) widen_input<Call>(own, i);
      if constexpr (Backward && backward_reads(planned).output) widen(own, Plan::value(Call), places::output, Call);
      if constexpr (Backward) widen(own, Plan::gradient(Call), places::output_gradient, Call);
    });
    run(memory);
    divide_work(memory, [](pass_memory const& own) {
      if constexpr (!Backward) {
        narrow(own, places::output, Plan::value(Call), Call);
      } else {
        for (int i = 0; i < places::node.input_count; ++i)
          if (Plan::model_plan.calls[places::input_call(i)].needs_gradient) narrow_gradient<Call>(own, i);
      }
    });
  }

  /// The loss of an output, which `run(prediction, gradient)` computes.
  template <std::size_t Output, class Run>
  static float loss(pass_memory const& memory, float const* prediction, loss_gradient const& gradient, Run const& run) {
    constexpr int call = session::ends[Output];
    constexpr auto n = numbers_of(call), stride = floats_of(call);
    if constexpr (!is_stored_narrow(call)) return run(prediction, gradient);
    float* const values = memory.widened;
    kernels::widen<type, architecture>(halves(prediction), values, n);
    loss_gradient floats;
    if (gradient.to != nullptr) floats.to = values + stride;
    if (gradient.scratch != nullptr) {
      floats.scratch = values + 2 * stride;
      kernels::widen<type, architecture>(halves(gradient.to), floats.to, n);
    }
    float const result = run(values, floats);
    if (gradient.to != nullptr) kernels::narrow<type, architecture>(floats.to, halves(gradient.to), n);
    return result;
  }

  /// An output that `run(floats)` makes of its logits, in their place.
  template <std::size_t Output, class Run>
  static void output(pass_memory const& memory, float* value, Run const& run) {
    constexpr int call = session::ends[Output];
    if constexpr (!is_stored_narrow(call)) return run(value);
    float* const values = memory.widened + output_offset<Output>();
    kernels::widen<type, architecture>(halves(value), values, numbers_of(call));
    run(values);
    kernels::narrow<type, architecture>(values, halves(value), numbers_of(call));
  }
  /// An output as floats, which last until the next micro-batch's.
  template <std::size_t Output>
  static float const* prediction(pass_memory const& memory, float const* value) {
    constexpr int call = session::ends[Output];
    if constexpr (!is_stored_narrow(call)) return value;
    float* const values = memory.widened + output_offset<Output>();
    kernels::widen<type, architecture>(halves(value), values, numbers_of(call));
    return values;
  }

  /// The place where the host writes an input.
  static float* input(pass_memory const& memory, int call) {
    if (!is_stored_narrow(call)) return Plan::address(memory, Plan::value(call));
    long long offset = 0;
    for (int i = 0; i < call; ++i) offset += graph.call(i).is_input ? floats_of(i) : 0;
    return memory.widened + offset;
  }
  /// Stores the inputs that the host has written.
  static void inputs(pass_memory const& memory) {
    for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i)
      if (graph.call(i).is_input && is_stored_narrow(i))
        kernels::narrow<type, architecture>(input(memory, i), halves(Plan::address(memory, Plan::value(i))),
                                            numbers_of(i));
  }

  /// A share of a gradient is added to another one.
  static void addition(pass_memory const& own, pass_addition const& added) {
    if (!is_stored_narrow(added.call)) {
      auto const [first, last] = own.share.of(added.floats, 16);
      return kernels::scaled_add<true, architecture>(1.0F, Plan::address(own, added.from) + first,
                                                     Plan::address(own, added.to) + first, last - first);
    }
    auto const [first, last] = own.share.of(2 * added.floats, 32);
    kernels::add_narrow<type, architecture>(halves(Plan::address(own, added.from)) + first,
                                            halves(Plan::address(own, added.to)) + first, last - first);
  }

  /// Floats of a device's room.
  [[nodiscard]] static constexpr long long room_floats() { return output_offset<session::end_count>(); }

 private:
  static std::uint16_t* halves(float* place) { return reinterpret_cast<std::uint16_t*>(place); }
  static std::uint16_t const* halves(float const* place) { return reinterpret_cast<std::uint16_t const*>(place); }

  /// True if a step reads its inputs as floats: nearly all do.
  template <int Call, bool Backward>
  static constexpr bool widens_inputs = [] {
    using call = host_call<Plan, Call>;
    if constexpr (requires { layer_steps_of<call>::template widens_inputs<call, Backward>; })
      return layer_steps_of<call>::template widens_inputs<call, Backward>;
    else
      return true;
  }();

  static constexpr long long numbers_of(int call) {
    return static_cast<long long>(Plan::model_plan.batch) * graph.call(call).shape.size();
  }
  static constexpr long long floats_of(int call) { return (numbers_of(call) + 15) / 16 * 16; }
  static constexpr bool is_stored_narrow(int call) { return is_half(Plan::model_plan.calls[call].stored); }
  /// The offset of a widened output in the room, in floats: after what steps, losses and the infeed need.
  template <std::size_t Output>
  static constexpr long long output_offset() {
    long long most = 0, inputs = 0;
    auto const take = [&](long long floats) { most = floats > most ? floats : most; };
    [&]<std::size_t... Call>(std::index_sequence<Call...>) {
      (take(widened_step<Plan, static_cast<int>(Call)>::floats), ...);
    }(std::make_index_sequence<graph.calls.size()>{});
    for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) inputs += graph.call(i).is_input ? floats_of(i) : 0;
    take(inputs);
    for (int const output : session::ends) take(3 * floats_of(output));
    for (std::size_t i = 0; i < Output; ++i) most += floats_of(session::ends[i]);
    return most;
  }

  template <int Call>
  static void widen_input(pass_memory const& own, int index) {
    using places = widened_step<Plan, Call>;
    int const call = places::input_call(index);
    if (!casts_input<Plan, Call>(call)) return widen(own, Plan::value(call), places::input(index), call);
    auto const [first, last] = own.share.of(numbers_of(call), 32);
    kernels::round_to<type, architecture>(Plan::address(own, Plan::value(call)) + first,
                                          own.widened + places::input(index) + first, last - first);
  }
  template <int Call>
  static void narrow_gradient(pass_memory const& own, int index) {
    using places = widened_step<Plan, Call>;
    int const call = places::input_call(index);
    auto const& to = Plan::input_gradient(places::node.first_input + index);
    if (!casts_input<Plan, Call>(call)) return narrow(own, places::input_gradient(index), to, call);
    auto const [first, last] = own.share.of(numbers_of(call), 32);
    float* const gradient = Plan::address(own, to) + first;
    kernels::round_to<type, architecture>(gradient, gradient, last - first);
  }

  /// A share of a tensor.
  static void widen(pass_memory const& own, buffer_place const& from, long long to, int call) {
    if (!is_stored_narrow(call)) return;
    auto const [first, last] = own.share.of(numbers_of(call), 32);
    kernels::widen<type, architecture>(halves(Plan::address(own, from)) + first, own.widened + to + first,
                                       last - first);
  }
  static void narrow(pass_memory const& own, long long from, buffer_place const& to, int call) {
    if (!is_stored_narrow(call)) return;
    auto const [first, last] = own.share.of(numbers_of(call), 32);
    kernels::narrow<type, architecture>(own.widened + from + first, halves(Plan::address(own, to)) + first,
                                        last - first);
  }
};

/// `Plan` is that of a pass.
template <class Plan>
class rounded_weights {
  using architecture = typename Plan::architecture;
  static constexpr auto const& parameters = Plan::graph.parameters;
  static constexpr auto const& types = variable_types_of<typename Plan::job>;

 public:
  /// True if some variables are of 16 bits.
  static constexpr bool are_there = [] {
    for (std::size_t i = 0; i < Plan::weights.count; ++i)
      if (is_half(types[i])) return true;
    return false;
  }();
  /// Makes a pass's copy of a weight.
  template <std::size_t Parameter>
  static void copy(float const* from, float* to) {
    constexpr auto floats = Plan::weights.size[Parameter];
    if constexpr (!parameters[Parameter].is_cast() ||
                  own_type_of_weight(Plan::graph, static_cast<int>(Parameter)) != dtype::of_policy)
      std::copy_n(from, floats, to);
    else if constexpr (constexpr int layer = bfloat16_layer_of_weight<Plan, Parameter>; layer >= 0)
      bfloat16_kernel<Plan, layer>::pack(from, to);
    else
      kernels::round_to<Plan::stored, architecture>(from, to, floats);
  }
  /// All weights, which a program or a file has brought.
  static void given(float* weights) {
    for (std::size_t i = 0; i < Plan::weights.count; ++i)
      if (parameters[i].is_cast()) round(types[i], weights + Plan::weights.offset[i], Plan::weights.size[i]);
  }
  /// Elements of a weight, and the optimizer's numbers of them, after an update.
  template <std::size_t Parameter>
  static void updated(pass_memory const& memory, optimizer_state const& state, kernels::share::range elements) {
    auto const count = elements.last - elements.first;
    round(types[Parameter], memory.weights + Plan::weights.offset[Parameter] + elements.first, count);
    for (int i = 0; state.slots != nullptr && i < slots_of<Plan::training.optimizer>; ++i)
      round(types[Parameter], state.slots + i * state.stride, count);
  }

 private:
  static void round(dtype type, float* x, long long count) {
    if (type == dtype::float16) kernels::round_to<dtype::float16, architecture>(x, x, count);
    if (type == dtype::bfloat16) kernels::round_to<dtype::bfloat16, architecture>(x, x, count);
  }
};

}  // namespace stagecraft::cpu
