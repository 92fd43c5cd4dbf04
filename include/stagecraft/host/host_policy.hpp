// SPDX-License-Identifier: BSD-3-Clause
// The host carries out a plan by its kernels, and nothing else.
#pragma once

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/device_threads.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/host/layer_steps/layer_steps.hpp>
#include <stagecraft/host/loss_step.hpp>
#include <stagecraft/host/narrow_storage.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/host/steps/step_epilogue.hpp>
#include <stagecraft/host/steps/step_weights.hpp>
#include <stagecraft/host/weight_functions.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace stagecraft::cpu {

/// See ExecutionPolicy. Values in 16 bits are widened for each step and narrowed after it (narrow_storage.hpp).
/// Policies that derive from this one define only what they do differently.
struct host_policy {
  static constexpr bool devices_have_teams = true;
  static constexpr bool joins_passes = true;
  static constexpr bool joins_epilogues = true;
  template <class Machine>
  static constexpr bool joins_updates = true;
  template <class Plan>
  static constexpr bool clears_accumulators = true;
  /// True if `step` adds what backward steps have written to sums in half precision.
  template <class Plan>
  static constexpr bool accumulates_halves = Plan::accumulates_halves;

  // Memory.
  template <class Sizes>
  struct replica_memory {};
  template <class Job>
  static constexpr diagnostic const& memory_problem() {
    return no_memory_problem;
  }
  template <class Plan, int Call>
  static constexpr workspace_size workspace() {
    using call = host_call<Plan, Call>;
    long long const all = layer_steps_of<call>::template workspace<call>() + epilogue_floats<call>();
    return {all, all - shared_floats<layer_steps_of<call>, call>};
  }
  template <class Plan>
  static constexpr long long update_workspace() {
    return weight_functions<Plan>::workspace_floats();
  }
  template <class Plan>
  static constexpr long long widened_floats() {
    if constexpr (is_half(Plan::stored) || has_own_types<typename Plan::job>)
      return narrow_storage<Plan>::room_floats();
    else
      return 0;
  }
  template <class Sizes>
  static void begin_pass(replica_memory<Sizes>&, bool, int, int, pass_memory&) {}
  template <class Sizes>
  static void begin_update(replica_memory<Sizes>&, int, pass_memory&, bool) {}

  // Weights.
  template <class Plan, std::size_t Parameter>
  static void initial_values(std::uint64_t seed, float* to) {
    cpu::initial_values<typename Plan::model, Parameter, typename Plan::architecture>(seed, to);
  }
  template <class Plan, template <int> class PlanOfCall>
  using step_weights = cpu::step_weights<Plan, PlanOfCall>;
  template <class Plan, std::size_t Parameter>
  static void copy_weight(pass_memory const&, float const* from, float* to) {
    if constexpr (rounds_copies<Plan>)
      rounded_weights<Plan>::template copy<Parameter>(from, to);
    else
      transfer(from, to, static_cast<std::size_t>(Plan::weights.size[Parameter]));
  }
  template <class Plan>
  static void given_weights(float* weights) {
    if constexpr (rounds_variables<Plan>) rounded_weights<Plan>::given(weights);
  }

  // Steps.
  template <class Plan>
  static float* input(pass_memory const& memory, int call) {
    if constexpr (is_half(Plan::stored))
      return narrow_storage<Plan>::input(memory, call);
    else
      return Plan::address(memory, Plan::value(call));
  }
  template <class Plan>
  static void inputs(pass_memory const& memory) {
    if constexpr (is_half(Plan::stored)) narrow_storage<Plan>::inputs(memory);
  }
  template <class Plan, int Call, bool Backward>
  static void step(pass_memory const& memory) {
    if constexpr (is_half(Plan::stored))
      narrow_storage<Plan>::template step<Call, Backward>(memory, step_on_floats<Plan, Call, Backward>);
    else
      step_on_floats<Plan, Call, Backward>(memory);
  }
  template <class Plan>
  static constexpr bool reads_sample() {
    return readers_of_sample<Plan>(false) == 0 && readers_of_sample<Plan>(true) > 0;
  }
  template <class Plan>
  static constexpr bool writes_result() {
    if constexpr (Plan::lone_output >= 0) {
      using call = host_call<Plan, Plan::lone_output>;
      if constexpr (stays_in_bounds<call>)
        return !reads_sample_of<call>() || layer_steps_of<call>::template writes_last<call>();
    }
    return false;
  }
  template <class Plan>
  static void addition(pass_memory const& memory, pass_addition const& added, int /*number*/) {
    device_threads<Plan::threads>::divide(memory, [&](pass_memory const& own) {
      if constexpr (is_half(Plan::stored)) return narrow_storage<Plan>::addition(own, added);
      auto const [first, last] = own.share.of(added.floats, 16);
      kernels::scaled_add<true, typename Plan::architecture>(1.0F, Plan::address(own, added.from) + first,
                                                             Plan::address(own, added.to) + first, last - first);
    });
  }
  template <class Plan, int Call, std::size_t Parameter>
  static void begin_gradient(pass_memory const& own) {
    parameter_update<Plan, Parameter>::begin(own, Plan::gradients.shift[Call], share_of<Plan, Parameter>(own));
  }

  // Losses.
  template <class Plan, std::size_t Output>
  static float loss(pass_memory const& memory, float const* prediction, void const* targets, float const* scales,
                    loss_gradient const& gradient) {
    float factor = loss_weight_of<typename Plan::job>(Output);
    if constexpr (Plan::trains) factor *= gradient_factor<Plan>(memory.accumulated) * memory.loss_scale;
    auto const find = [&](float const* values, loss_gradient const& to) {
      return loss_step<shape_of<Plan>, Output, typename Plan::architecture>(values, targets, scales, to, factor,
                                                                            memory.valid_samples);
    };
    if constexpr (is_half(Plan::stored))
      return narrow_storage<Plan>::template loss<Output>(memory, prediction, gradient, find);
    else
      return find(prediction, gradient);
  }
  template <class Plan, std::size_t Output>
  static void output(pass_memory const& memory, float* value) {
    auto const make = [](float* values) { output_step<shape_of<Plan>, Output, typename Plan::architecture>(values); };
    if constexpr (is_half(Plan::stored))
      narrow_storage<Plan>::template output<Output>(memory, value, make);
    else
      make(value);
  }
  template <class Plan, std::size_t Output>
  static float const* prediction(pass_memory const& memory, float const* value) {
    if constexpr (is_half(Plan::stored))
      return narrow_storage<Plan>::template prediction<Output>(memory, value);
    else
      return value;
  }

  // Updates.
  template <class Plan, std::size_t Parameter>
  static void sum_of_calls(pass_memory const& own) {
    parameter_update<Plan, Parameter>::sum_calls(own, share_of<Plan, Parameter>(own));
  }
  template <class Plan, std::size_t Parameter, class Gradients, class Range>
  static void sum_of_replicas(pass_memory const&, Gradients const& gradients, int replica, Range const& elements) {
    constexpr bool mean = Plan::training.cross_replica_reduction == cross_replica_reduction::mean;
    constexpr int replicas = Plan::job::replicas;
    if constexpr (Plan::shards_updates)
      kernels::reduce_scatter<mean, typename Plan::architecture>(gradients.data(), replicas, gradients[replica],
                                                                 elements);
    else
      kernels::all_reduce<mean, typename Plan::architecture>(gradients.data(), replicas, elements);
  }
  template <class Plan, std::size_t Parameter>
  static void sum_of_processes(float const*, std::int64_t) {}
  template <class Plan, std::size_t Parameter>
  static void penalty_gradient(pass_memory const& memory, float times, bool) {
    weight_functions<Plan>::template add_penalty_gradient<Parameter>(memory.weights, memory.gradients, times,
                                                                     memory.workspace);
  }
  template <class Plan, std::size_t Parameter, unsigned Norms, class Range>
  static void add_squares(pass_memory const& memory, optimizer_state const& state, Range const& elements,
                          double* sums) {
    parameter_update<Plan, Parameter>::template add_squares<Norms>(memory, state, elements, sums);
  }
  template <class Plan, std::size_t Parameter, int Round>
  static void squares(pass_memory const&, optimizer_state const&, bool, double*) {}
  template <class Plan, std::size_t Parameter, class Range>
  static void update(pass_memory const& memory, optimizer_state const& state, Range const& elements) {
    parameter_update<Plan, Parameter>::apply(memory, state, elements);
    if constexpr (rounds_variables<Plan>) rounded_weights<Plan>::template updated<Parameter>(memory, state, elements);
  }
  template <class Plan, std::size_t Parameter>
  static void constraint(pass_memory const& memory, bool) {
    weight_functions<Plan>::template constrain<Parameter>(memory.weights, memory.workspace);
    if constexpr (rounds_variables<Plan>)
      rounded_weights<Plan>::template updated<Parameter>(memory, {}, {0, Plan::weights.size[Parameter]});
  }
  template <class Plan, std::size_t Parameter>
  static float penalty(float const* weights, float* workspace) {
    return weight_functions<Plan>::template penalty<Parameter>(weights, workspace);
  }

  // Transfers.
  static void transfer(float const* from, float* to, std::size_t floats) {
    std::memcpy(to, from, floats * sizeof(float));
  }

 protected:
  template <class Plan>
  static constexpr bool rounds_copies = is_half(Plan::stored) && rounds_copies_of_weights<Plan::training.dtype_policy>;

 private:
  template <class Plan>
  using shape_of = session_shape<typename Plan::job::described>;
  template <class Plan>
  static constexpr bool rounds_variables = rounded_weights<Plan>::are_there;

  template <class Plan, std::size_t Parameter>
  static kernels::share::range share_of(pass_memory const& own) {
    return own.share.of(Plan::weights.size[Parameter], 16);
  }

  template <class Call>
  static constexpr bool stays_in_bounds = [] {
    if constexpr (requires { layer_steps_of<Call>::template stays_in_bounds<Call>(); })
      return layer_steps_of<Call>::template stays_in_bounds<Call>();
    else
      return false;
  }();
  template <class Call>
  static constexpr bool reads_sample_of() {
    for (int i = 0; i < Call::input_count; ++i)
      if (Call::plan::is_sample(Call::input_call(i))) return true;
    return false;
  }
  /// The number of calls that read the lone input and nothing after it (InBounds), or of the others that read it.
  template <class Plan>
  static constexpr int readers_of_sample(bool in_bounds) {
    int found = 0;
    for_each_index<static_cast<int>(Plan::graph.calls.size())>([&]<int Call>() {
      if constexpr (Plan::lone_input >= 0 && !Plan::graph.call(Call).is_input) {
        using call = host_call<Plan, Call>;
        if (reads_sample_of<call>() && stays_in_bounds<call> == in_bounds) ++found;
      }
    });
    return found;
  }

  /// A step whose tensors are floats, which all threads have done or seen done afterwards.
  template <class Plan, int Call, bool Backward>
  static void step_on_floats(pass_memory const& memory) {
    using call = host_call<Plan, Call>;
    using steps = layer_steps_of<call>;
    using team = device_threads<Plan::threads>;
    auto const run = [](pass_memory const& own) {
      if constexpr (Backward)
        steps::backward(call{own});
      else
        steps::forward(call{own});
    };
    if constexpr (Plan::threads == 1 || has_phases<steps>)
      run(memory);
    else if constexpr (divides_steps<steps>)
      team::divide(memory, run);
    else
      team::alone(memory, [&] { run(memory); });
    if constexpr (Backward && Plan::policy::template accumulates_halves<Plan> && call::parameter_count > 0)
      team::divide(memory, accumulate_halves<Plan, Call>);
  }
  template <class Plan, int Call>
  static void accumulate_halves(pass_memory const& own) {
    constexpr auto const& layer = Plan::graph.layer_of(Call);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (accumulate_half<Plan, Call, static_cast<std::size_t>(layer.first_parameter) + Index>(own), ...);
    }(std::make_index_sequence<layer.parameter_count>{});
  }
  template <class Plan, int Call, std::size_t Parameter>
  static void accumulate_half(pass_memory const& own) {
    parameter_update<Plan, Parameter>::accumulate(own, Plan::gradients.shift[Call], share_of<Plan, Parameter>(own));
  }
};

}  // namespace stagecraft::cpu

namespace stagecraft::engine {

template <int Threads, class Arch, int Devices>
struct policy_of_machine<host_machine<Threads, Arch, Devices>> {
  using type = cpu::host_policy;
};

}  // namespace stagecraft::engine
