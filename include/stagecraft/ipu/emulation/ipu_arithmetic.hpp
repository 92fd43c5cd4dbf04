// SPDX-License-Identifier: BSD-3-Clause
// Rounds the results of an emulated IPU's steps to half precision, and stops where floating_point_behaviour says so.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/loss_step.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/ipu/emulation/emulated_device.hpp>
#include <stagecraft/ipu/emulation/floating_point_watch.hpp>
#include <stagecraft/ipu/emulation/half_storage.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <stagecraft/plan/session_shape.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::tiles {

/// `Plan` is that of a pass.
template <class Plan>
class ipu_arithmetic {
  using model = typename Plan::model;
  using architecture = typename Plan::architecture;
  using halves = half_storage<Plan::machine::config, architecture>;
  using watch = floating_point_watch<halves::behaviour, architecture>;
  template <int Call>
  using call_type = host_call<Plan, Call>;
  static constexpr auto const& graph = Plan::graph;
  /// Tiles round what they store themselves.
  using types = ipu_types<Plan>;
  template <int Call>
  static constexpr bool rounds = !Plan::machine::checked && types::template computes_halves<Call>;
  static constexpr bool sums_floats = !Plan::accumulates_halves && Plan::options.accumulation_steps() > 1;

 public:
  /// True if `step` adds gradients of weights to accumulators in half precision. Otherwise what it runs does that.
  static constexpr bool accumulates_at_random =
      Plan::accumulates_halves && halves::at_random && !Plan::machine::checked;

  /// Floats that a device keeps aside while a backward step writes gradients of weights, to be rounded on their own.
  [[nodiscard]] static constexpr long long held_floats() {
    long long most = 0;
    if constexpr (!Plan::machine::checked && sums_floats)
      for (std::size_t call = 0; call < graph.calls.size(); ++call)
        if (types::is_half(static_cast<int>(call))) most = std::max(most, floats_of_layer(static_cast<int>(call)));
    return most;
  }

  /// A layer's step, which `run()` carries out.
  template <int Call, bool Backward, class Run>
  static void step(pass_memory const& memory, Run const& run) {
    using call = call_type<Call>;
    [[maybe_unused]] half_rounding const stores(
        halves::rules(halves::key(memory, rounded_value::tiles, Call, Backward ? 1 : 0)));
    if constexpr (Backward && rounds<Call> && sums_floats) hold_gradients<Call>(memory);
    bool too_large = types::template cast_inputs<Call, halves>(memory);
    watch results;
    if constexpr (Backward && watch::is_on) look_at_sums<Call>(memory, results);
    run();
    results.end();
    too_large |= stores.overflowed();
    if constexpr (watch::is_on) {
      for_each_result<Call, Backward>(memory, [&](float* x, long long n, auto...) { results.look_at_result(x, n); });
      if constexpr (Backward) results.look_at_result(gradients_of<Call>(memory), floats_of_layer(Call));
      if (results.suspects(too_large)) look_at_operands<Call, Backward>(call{memory}, results);
    }
    if constexpr (!Plan::machine::checked && (rounds<Call> || has_own_types<typename Plan::job>))
      for_each_result<Call, Backward>(memory, [&](float* x, long long n, rounded_value what, int index) {
        if (what == rounded_value::input_gradient ? types::template rounds_input_gradient<Call>(index) : rounds<Call>)
          too_large |= halves::round(x, n, halves::key(memory, what, Call, index));
      });
    if constexpr (Backward && rounds<Call>) too_large |= round_gradients<Call>(memory);
    if constexpr (Backward && accumulates_at_random)
      too_large |= accumulate<Call>(memory);
    else if constexpr (Backward && Plan::accumulates_halves && !Plan::machine::checked)
      too_large |=
          halves::limit(memory.halves + (gradients_of<Call>(memory) - memory.gradients), floats_of_layer(Call));
    if constexpr (!Backward && Plan::trains) too_large |= round_layer_state<Call>(memory);
    results.check(too_large, {.kind = "layer",
                              .layer = graph.layer_of(Call).name,
                              .step = Backward ? "the backward step of micro-batch" : "the forward step of micro-batch",
                              .number = memory.micro_batch});
  }

  /// The loss of an output, which `run()` returns.
  template <std::size_t Output, class Run>
  static float loss(pass_memory const& memory, float const* prediction, void const* targets,
                    loss_gradient const& gradient, Run const& run) {
    using session = session_shape<typename Plan::job::described>;
    using target_type = typename session::template target_type<Output>;
    constexpr long long floats = 1LL * session::batch * session::output_shape(Output).size();
    constexpr int number = static_cast<int>(Output);
    [[maybe_unused]] half_rounding const stores(halves::rules(halves::key(memory, rounded_value::tiles, number, 2)));
    watch results;
    if (gradient.scratch != nullptr) results.look_at_operand(gradient.to, floats);
    float const loss = run();
    results.end();
    bool too_large = stores.overflowed();
    results.look_at_result(&loss, 1);
    if (gradient.to != nullptr) results.look_at_result(gradient.to, floats);
    if (results.suspects(too_large)) {
      results.look_at_operand(prediction, floats);
      if constexpr (std::is_same_v<target_type, float>)
        results.look_at_operand(static_cast<float const*>(targets), floats);
    }
    if constexpr (!Plan::machine::checked && types::is_half(session::ends[Output]))
      if (gradient.to != nullptr)
        too_large |= halves::round(gradient.to, floats, halves::key(memory, rounded_value::loss_gradient, number, 0));
    results.check(too_large, {.kind = "loss of output",
                              .layer = graph.layer_of(session::ends[Output]).name,
                              .step = "the forward step of micro-batch",
                              .number = memory.micro_batch});
    return loss;
  }

  /// Logits that become an output after its loss, by `run()`.
  template <std::size_t Output, class Run>
  static void output(pass_memory const& memory, float* value, Run const& run) {
    using session = session_shape<typename Plan::job::described>;
    constexpr long long floats = 1LL * session::batch * session::output_shape(Output).size();
    constexpr int call = session::outputs[Output];
    [[maybe_unused]] half_rounding const stores(halves::rules(halves::key(memory, rounded_value::tiles, call, 3)));
    watch results;
    if constexpr (watch::is_on) results.look_at_operand(value, floats);
    run();
    results.end();
    bool too_large = stores.overflowed();
    results.look_at_result(value, floats);
    if constexpr (!Plan::machine::checked && types::is_half(call))
      too_large |= halves::round(value, floats, halves::key(memory, rounded_value::output, call, 1));
    results.check(too_large, {.kind = "layer",
                              .layer = graph.layer_of(call).name,
                              .step = "the forward step of micro-batch",
                              .number = memory.micro_batch});
  }

  /// Watches and rounds a sum of gradients between two steps, which `run()` adds up; `number` tells such sums of a pass
  /// apart.
  template <class Run>
  static void addition(pass_memory const& memory, pass_addition const& added, int number, Run const& run) {
    float* const sum = Plan::address(memory, added.to);
    watch results;
    results.look_at_operand(sum, added.floats);
    run();
    results.end();
    bool too_large = false;
    results.look_at_result(sum, added.floats);
    if (types::is_half(added.call))
      too_large = halves::round(sum, added.floats,
                                halves::key(memory, rounded_value::sum_of_gradients, Plan::pass_number, number));
    if (results.suspects(too_large)) results.look_at_operand(Plan::address(memory, added.from), added.floats);
    results.check(too_large, {.kind = "layer",
                              .layer = graph.layer_of(added.call).name,
                              .step = "the sum of gradients of micro-batch",
                              .number = memory.micro_batch});
  }

  /// The gradients of all calls of a layer become one, which `run()` does. Sums of halves never overflow.
  template <std::size_t Parameter, class Run>
  static void sum_of_calls(pass_memory const& memory, Run const& run) {
    using weight = parameter_update<Plan, Parameter>;
    constexpr auto is_summed = [](std::size_t call) {
      return Plan::model_plan.calls[call].needs_gradient && weight::used_by(static_cast<int>(call));
    };
    constexpr int summed = [is_summed] {
      int count = 0;
      for (std::size_t i = 0; i < graph.calls.size(); ++i) count += is_summed(i) ? 1 : 0;
      return count;
    }();
    if constexpr (!watch::is_on || Plan::accumulates_halves || summed < 2) {
      run();
    } else {
      float const* const sum = memory.gradients + weight::offset;
      watch results;
      for (std::size_t i = 0; i < graph.calls.size(); ++i)
        if (is_summed(i)) results.look_at_operand(sum + Plan::gradients.shift[i], weight::size);
      run();
      results.end();
      results.look_at_result(sum, weight::size);
      results.check(false,
                    of_weight<Parameter>("the sum of its layer's gradients behind micro-batch", memory.micro_batch));
    }
  }

  /// The gradients of all replicas become one in a range of a weight's elements, which `run()` does. The sum is looked
  /// at in the place of replica `own`.
  template <std::size_t Parameter, class Gradients, class Range, class Run>
  static void sum_of_replicas(pass_memory const& memory, Gradients const& replicas, int own, Range const& elements,
                              Run const& run) {
    auto const count = elements.last - elements.first;
    watch results;
    if constexpr (watch::is_on)
      for (float const* const gradient : replicas) results.look_at_operand(gradient + elements.first, count);
    run();
    results.end();
    results.look_at_result(replicas[own] + elements.first, count);
    results.check(false, of_weight<Parameter>("the replicas' sum of gradients behind micro-batch", memory.micro_batch));
  }

  /// Rounds the inputs that the host has written.
  static void inputs(pass_memory const& memory) {
    if constexpr (Plan::training.dtype_policy.compute_dtype == dtype::float16)
      for (std::size_t i = 0; i < graph.calls.size(); ++i)
        if (auto const number = static_cast<int>(i);
            graph.calls[i].is_input && types::is_half(number) && values_on_ipus<typename Plan::job>[i]) {
          round_what_came(Plan::address(memory, Plan::value(number)),
                          1LL * Plan::model_plan.batch * graph.calls[i].shape.size(),
                          halves::key(memory, rounded_value::model_input, number, 0),
                          {.kind = "layer",
                           .layer = graph.layer_of(number).name,
                           .step = "the input of micro-batch",
                           .number = memory.micro_batch});
        }
  }

  /// A pass's copy of a weight.
  template <std::size_t Parameter>
  static void copied_weight(pass_memory const& memory, float* copy) {
    if constexpr (types::template rounds_copies<Parameter>)
      round_what_came(copy, Plan::weights.size[Parameter],
                      halves::key(memory, rounded_value::weight, static_cast<int>(Parameter), 0),
                      of_weight<Parameter>("the copy of the weight in float16 of micro-batch", memory.micro_batch));
  }

  /// Weights that have been written by a program or read from a file.
  static void given_weights([[maybe_unused]] float* weights) {
    if constexpr (Plan::weights.count > 0)
      [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
        // No fold: Clang allows 256 parts of one, and a ResNet-50 has 320 weights.
        [[maybe_unused]] int const done[]{(round_given<Parameter>(weights + Plan::weights.offset[Parameter]), 0)...};
      }(std::make_index_sequence<Plan::weights.count>{});
  }

  /// The update of a range of a weight's elements, or its constraint, without a state, which `run()` carries out.
  template <std::size_t Parameter, class State, class Range, class Run>
  static void update(pass_memory const& memory, State const& state, Range const& elements, Run const& run) {
    int const number = Parameter, slots = state.slots != nullptr ? slots_of<Plan::training.optimizer> : 0;
    auto const count = elements.last - elements.first;
    float* const values = memory.weights + Plan::weights.offset[Parameter] + elements.first;
    [[maybe_unused]] half_rounding const stores(halves::rules_of_update(halves::key_of_update(memory, number, 7)));
    watch results;
    results.look_at_operand(values, count);
    for (int i = 0; i < slots; ++i) results.look_at_operand(state.slots + i * state.stride, count);
    run();
    results.end();
    bool too_large = stores.overflowed();
    results.look_at_result(values, count);
    for (int i = 0; i < slots; ++i) results.look_at_result(state.slots + i * state.stride, count);
    if (results.suspects(too_large))
      results.look_at_operand(memory.gradients + Plan::weights.offset[Parameter] + elements.first, count);
    if constexpr (types::is_half_weight(Parameter)) {
      auto const round = [&](float* x, int slot) {
        too_large |= halves::round_in_update(x, count, halves::key_of_update(memory, number, slot), elements.first);
      };
      round(values, 6);
      for (int i = 0; i < slots; ++i) round(state.slots + i * state.stride, i);
    }
    results.check(too_large, of_weight<Parameter>("weight update", memory.update));
  }

 private:
  template <std::size_t Parameter>
  static watched_step of_weight(std::string_view step, std::int64_t number) {
    constexpr std::string_view layer = types::layer_of_weight(static_cast<int>(Parameter));
    return {
        .kind = "weight", .layer = layer, .weight = graph.parameters[Parameter].name, .step = step, .number = number};
  }

  /// Numbers that no step has computed: an infinity is not their rounding's fault.
  static void round_what_came(float* x, long long floats, kernels::random_key const& key, watched_step const& where) {
    watch results;
    if constexpr (halves::behaviour.oflo) results.look_at_operand(x, floats);
    results.check(halves::round(x, floats, key), where);
  }
  template <std::size_t Parameter>
  static void round_given([[maybe_unused]] float* weight) {
    if constexpr (types::is_half_weight(Parameter)) {
      constexpr auto floats = Plan::weights.size[Parameter];
      watch results;
      if constexpr (halves::behaviour.oflo) results.look_at_operand(weight, floats);
      results.check(kernels::round_to_half<halves::overflow, architecture>(weight, floats),
                    of_weight<Parameter>("the given weight in float16 before micro-batch", 0));
    }
  }

  /// Floats of all weights of a call's layer, which lie one after the other.
  static constexpr long long floats_of_layer(int call) {
    auto const& layer = Plan::graph.layer_of(call);
    long long floats = 0;
    for (int i = 0; i < layer.parameter_count; ++i) floats += Plan::weights.size[layer.first_parameter + i];
    return floats;
  }
  template <int Call>
  static float* gradients_of(pass_memory const& memory) {
    constexpr auto const& layer = graph.layer_of(Call);
    if constexpr (layer.parameter_count == 0)
      return memory.gradients;
    else
      return memory.gradients + Plan::weights.offset[layer.first_parameter] + Plan::gradients.shift[Call];
  }

  /// each(floats, count, what, index) for what a step writes, but for gradients of weights.
  template <int Call, bool Backward, class Each>
  static void for_each_result(pass_memory const& memory, Each const& each) {
    call_type<Call> const call{memory};
    if constexpr (Backward) {
      for (int i = 0; i < call.input_count; ++i)
        if (call.wants_input_gradient(i))
          each(call.input_gradient(i), 1LL * call.batch * call.input_shape(i).size(), rounded_value::input_gradient, i);
    } else {
      if (Plan::exists(Plan::value(Call))) each(call.output(), 1LL * call.batch * call.size, rounded_value::output, 0);
      if constexpr (call_type<Call>::has_saved && Plan::trains) for_each_saved<Call>(call, each);
    }
  }
  /// Calls `each` for the parts of a forward step's kept values that have the type of values.
  template <int Call, class Each>
  static void for_each_saved(call_type<Call> const& call, Each const& each) {
    constexpr int pass = planning_timetable<typename Plan::job>.stage_of_pass(Plan::pass_number);
    constexpr auto const& step = lowered_step_of<typename Plan::job, pass, Call, false>;
    for (int i = 0; i < step.tensor_count; ++i)
      if (auto const& tensor = step.tensors[i]; tensor.role == tensor_role::saved && tensor.type == dtype::float16)
        each(call.saved() + tensor.index, static_cast<long long>(tensor.elements), rounded_value::saved, i);
  }

  template <int Call, bool Backward>
  static void look_at_operands(call_type<Call> const& call, watch& results) {
    for (int i = 0; i < call.input_count; ++i)
      if (!Backward || call.planned.needs.input)
        results.look_at_operand(call.input(i), 1LL * call.batch * call.input_shape(i).size());
    auto const floats = 1LL * call.batch * call.size;
    if (Backward) results.look_at_operand(call.output_gradient(), floats);
    if (Backward && call.planned.needs.output) results.look_at_operand(call.output(), floats);
    for (int i = 0; i < call.parameter_count; ++i) results.look_at_operand(call.weight(i), call.stored_floats(i));
  }

  /// Operands that a backward step adds to.
  template <int Call>
  static void look_at_sums(pass_memory const& memory, watch& results) {
    call_type<Call> const call{memory};
    for (int i = 0; i < call.input_count; ++i)
      if (call.wants_input_gradient(i) && call.adds_input_gradient(i))
        results.look_at_operand(call.input_gradient(i), 1LL * call.batch * call.input_shape(i).size());
    if (Plan::adds_parameter_gradients && memory.accumulated > 0)
      results.look_at_operand(gradients_of<Call>(memory), floats_of_layer(Call));
  }

  template <int Call>
  static bool accumulate(pass_memory const& memory) {
    float const* const gradients = gradients_of<Call>(memory);
    auto const factors = kernels::accumulation_factors_of(Plan::options.reduction_method, memory.accumulated,
                                                          Plan::options.accumulation_steps());
    return halves::accumulate_at_random({factors.accumulated, 1.0F}, gradients,
                                        memory.halves + (gradients - memory.gradients), floats_of_layer(Call),
                                        halves::key(memory, rounded_value::accumulator, Call, 0));
  }

  // Gradients of weights in half precision are added to sums in float32.
  template <int Call>
  static void hold_gradients(pass_memory const& memory) {
    if (memory.accumulated == 0) return;
    float* const sums = gradients_of<Call>(memory);
    std::copy_n(sums, floats_of_layer(Call), emulated_device_of(memory).held_gradients);
    std::fill_n(sums, floats_of_layer(Call), 0.0F);
  }
  template <int Call>
  static bool round_gradients(pass_memory const& memory) {
    constexpr auto floats = floats_of_layer(Call);
    if constexpr (floats == 0 || Plan::accumulates_halves) {
      return false;
    } else {
      float* const sums = gradients_of<Call>(memory);
      bool const too_large = halves::round(sums, floats, halves::key(memory, rounded_value::weight_gradient, Call, 0));
      if (sums_floats && memory.accumulated > 0)
        kernels::scaled_add<true, architecture>(1.0F, emulated_device_of(memory).held_gradients, sums, floats);
      return too_large;
    }
  }

  // Moving means and the like.
  template <int Call>
  static bool round_layer_state(pass_memory const& memory) {
    call_type<Call> const call{memory};
    bool too_large = false;
    for (int i = 0; i < call.parameter_count; ++i)
      if (call.parameter_info(i).is_state() &&
          types::is_half_weight(static_cast<std::size_t>(call.first_parameter + i)))
        too_large |= halves::round(call.mutable_weight(i), call.stored_floats(i),
                                   halves::key(memory, rounded_value::layer_state, Call, i));
    return too_large;
  }
};

}  // namespace stagecraft::tiles
