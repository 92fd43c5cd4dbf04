// SPDX-License-Identifier: BSD-3-Clause
// Emulated IPUs carry out a plan: by the host's kernels on the pieces of all tiles at once, or tile by tile. What they
// do is counted, and stored as an IPU stores it (ipu_arithmetic.hpp).
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/ipu/emulation/emulated_devices.hpp>
#include <stagecraft/ipu/emulation/floating_point_watch.hpp>
#include <stagecraft/ipu/emulation/ipu_arithmetic.hpp>
#include <stagecraft/ipu/emulation/ipu_loss.hpp>
#include <stagecraft/ipu/emulation/ipu_machine.hpp>
#include <stagecraft/ipu/emulation/ipu_weight_step.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <stagecraft/ipu/profile/step_memory.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// See ExecutionPolicy. Each function wraps what the host does in one guard, ipu_arithmetic, which watches floating
/// point numbers and rounds to half precision; tiles that compute for themselves (`ipu_model.checked`) do without what
/// the host does.
struct ipu_policy : host_policy {
  // Each call has a step of its own, with cycles of its own, and each tensor a place of its own on the tiles.
  static constexpr bool devices_have_teams = false;
  static constexpr bool joins_passes = false;
  static constexpr bool joins_epilogues = false;
  // The cost of an update is counted where the engine asks for it, whoever carries it out.
  template <class Machine>
  static constexpr bool joins_updates =
      !Machine::checked &&
      !floating_point_watch<Machine::config.floating_point_behaviour, typename Machine::architecture>::is_on;
  /// False for checked IPUs, where the accumulating tasks begin the sums themselves.
  template <class Plan>
  static constexpr bool clears_accumulators = !Plan::machine::checked;
  template <class Plan>
  static constexpr bool accumulates_halves = Plan::accumulates_halves && !ipu_arithmetic<Plan>::accumulates_at_random;

  template <class Sizes>
  using replica_memory = emulated_devices<Sizes>;
  /// E3010, E3012 or E3046 where a training, or what can be evaluated only, needs more memory than there is.
  template <class Job>
  static constexpr diagnostic const& memory_problem() {
    return tiles::memory_problem<typename Job::template in<main_mode<Job>>>;
  }
  /// E2110 where sub-steps with the same weights need more together; E3010, E3012, E3046 of one of them.
  template <class... Jobs>
  static constexpr diagnostic const& memory_problem_of_steps() {
    return tiles::memory_problem_of_steps<Jobs...>;
  }
  template <class Sizes>
  static void begin_pass(replica_memory<Sizes>& own, bool trains, int pass, int device, pass_memory& memory) {
    own.begin((trains ? own.counted.training : own.counted.inference)[pass], device, memory, true);
  }
  template <class Sizes>
  static void begin_update(replica_memory<Sizes>& own, int device, pass_memory& memory, bool first) {
    own.begin(own.counted.updates[device], device, memory, first);
  }

  template <class Plan, int Call, bool Backward>
  static void step(pass_memory const& memory) {
    // A generic lambda, so that tiles that compute for themselves do without the host's kernels.
    auto const on_host = [](auto const& own) { host_policy::step<Plan, Call, Backward>(own); };
    ipu_arithmetic<Plan>::template step<Call, Backward>(memory,
                                                        [&] { ipu_step<Plan, Call, Backward>::run(memory, on_host); });
  }

  template <class Plan, std::size_t Output>
  static float loss(pass_memory const& memory, float const* prediction, void const* targets, float const* scales,
                    loss_gradient const& gradient) {
    auto const on_host = [&] { return host_policy::loss<Plan, Output>(memory, prediction, targets, scales, gradient); };
    return ipu_arithmetic<Plan>::template loss<Output>(memory, prediction, targets, gradient, [&] {
      return ipu_loss<Plan, Output>::run(memory, prediction, targets, scales, gradient, on_host);
    });
  }
  template <class Plan, std::size_t Output>
  static void output(pass_memory const& memory, float* value) {
    auto const on_host = [&] { host_policy::output<Plan, Output>(memory, value); };
    ipu_arithmetic<Plan>::template output<Output>(memory, value,
                                                  [&] { ipu_output<Plan, Output>::run(memory, value, on_host); });
  }

  template <class Plan, std::size_t Parameter>
  static void sum_of_calls(pass_memory const& memory) {
    ipu_arithmetic<Plan>::template sum_of_calls<Parameter>(memory,
                                                           [&] { host_policy::sum_of_calls<Plan, Parameter>(memory); });
  }
  template <class Plan, std::size_t Parameter, class Gradients, class Range>
  static void sum_of_replicas(pass_memory const& memory, Gradients const& gradients, int replica,
                              Range const& elements) {
    ipu_arithmetic<Plan>::template sum_of_replicas<Parameter>(memory, gradients, replica, elements, [&] {
      host_policy::sum_of_replicas<Plan, Parameter>(memory, gradients, replica, elements);
    });
  }
  template <class Plan, std::size_t Parameter>
  static void sum_of_processes(float const* sum, std::int64_t micro_batch) {
    // What each process brought along has been looked at there.
    constexpr std::string_view layer = ipu_types<Plan>::layer_of_weight(static_cast<int>(Parameter));
    floating_point_watch<Plan::machine::config.floating_point_behaviour, typename Plan::architecture> results;
    results.end();
    results.look_at_result(sum, Plan::weights.size[Parameter]);
    results.check(false, {.kind = "weight",
                          .layer = layer,
                          .weight = Plan::graph.parameters[Parameter].name,
                          .step = "the replicas' sum of gradients behind micro-batch",
                          .number = micro_batch});
  }
  template <class Plan, std::size_t Parameter>
  static void penalty_gradient(pass_memory const& memory, float times, bool is_shared) {
    ipu_weight_step<Plan, Parameter>::penalty(
        memory, is_shared, [&] { host_policy::penalty_gradient<Plan, Parameter>(memory, times, is_shared); });
  }
  template <class Plan, std::size_t Parameter, int Round>
  static void squares(pass_memory const& memory, optimizer_state const& state, bool is_shared, double* sums) {
    if constexpr (Round == 0 && norms_of<Plan::training.optimizer>.has_global())
      ipu_weight_step<Plan, Parameter>::squares(memory, state, is_shared, sums, [] {});
  }
  template <class Plan, std::size_t Parameter, class Range>
  static void update(pass_memory const& memory, optimizer_state const& state, Range const& elements) {
    // Rounding follows from the tiles, not from host_policy::update.
    auto const on_host = [&] { parameter_update<Plan, Parameter>::apply(memory, state, elements); };
    ipu_arithmetic<Plan>::template update<Parameter>(
        memory, state, elements, [&] { ipu_weight_step<Plan, Parameter>::update(memory, state, elements, on_host); });
  }
  template <class Plan, std::size_t Parameter>
  static void constraint(pass_memory const& memory, bool is_shared) {
    auto const on_host = [&] {
      weight_functions<Plan>::template constrain<Parameter>(memory.weights, memory.workspace);
    };
    ipu_arithmetic<Plan>::template update<Parameter>(
        memory, optimizer_state{}, kernels::share::range{0, Plan::weights.size[Parameter]},
        [&] { ipu_weight_step<Plan, Parameter>::constraint(memory, is_shared, on_host); });
  }

  template <class Plan>
  static void inputs(pass_memory const& memory) {
    host_policy::inputs<Plan>(memory);
    ipu_arithmetic<Plan>::inputs(memory);
  }
  template <class Plan>
  static void addition(pass_memory const& memory, pass_addition const& added, int number) {
    count_addition<Plan>(memory, added);
    ipu_arithmetic<Plan>::addition(memory, added, number, [&] { host_policy::addition<Plan>(memory, added, number); });
  }
  template <class Plan, std::size_t Parameter>
  static void copy_weight(pass_memory const& memory, float const* from, float* to) {
    host_policy::copy_weight<Plan, Parameter>(memory, from, to);
    if constexpr (!rounds_copies<Plan>) ipu_arithmetic<Plan>::template copied_weight<Parameter>(memory, to);
  }
  template <class Plan>
  static void given_weights(float* weights) {
    ipu_arithmetic<Plan>::given_weights(weights);
  }
};

}  // namespace stagecraft::tiles

namespace stagecraft::engine {

template <ipu_config Config, int Threads, class Arch>
struct policy_of_machine<tiles::ipu_machine<Config, Threads, Arch>> {
  using type = tiles::ipu_policy;
};

}  // namespace stagecraft::engine
