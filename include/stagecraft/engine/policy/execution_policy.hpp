// SPDX-License-Identifier: BSD-3-Clause
// How a machine carries out what a plan says: the one place where machines differ. The engine decides what is done
// when, by which thread and in which memory; a policy does each of these things.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <stagecraft/threads/share.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::engine {

/// The policy of a machine: `type`. A specialisation says it, and has to be included wherever models run on that
/// machine. Without one, the machine can be described and profiled, but carries out nothing (E4092).
template <class Machine>
struct policy_of_machine {
  using type = void;
};
template <class Machine>
using policy_of = typename policy_of_machine<Machine>::type;

/// True if there is a policy that carries out a plan on the machine.
template <class Machine>
inline constexpr bool is_carried_out = !std::is_void_v<policy_of<Machine>>;

/// The memory problem of policies under which every model fits: none.
inline constexpr diagnostic no_memory_problem{};

/// The `step_weights` of policies whose steps read the weights as they are stored; see below.
struct stored_weights {
  static constexpr bool replaces_weights = false, prepares_weights = false;
  void derive(float*) {}
  [[nodiscard]] float* weights() const { return nullptr; }
  [[nodiscard]] float* prepared() const { return nullptr; }
  float* store_states(float* stored, bool /*are_ahead*/) const { return stored; }
};

/// The functions that the engine asks of a machine. All functions are static. `Plan` is the plan of a pass (step_plan),
/// `Sizes` the sizes of a replica's memory (pipeline_sizes), `memory` the calling thread's pass_memory.
///
/// Memory:
/// - `replica_memory<Sizes>`: what a replica needs besides the engine's memory; made once, never copied.
/// - `memory_problem<Job>()`: why a model does not fit, shown where a trainer is named.
/// - `workspace<Plan, Call>()`: the workspace_size of a call's steps; `update_workspace<Plan>()`: floats of workspace
/// for
///   weight updates; `widened_floats<Plan>()`: floats of a device's `device_memory::widened`.
/// - `begin_pass<Sizes>(own, trains, pass, device, memory)`: may set `memory.machine` for the steps of a pass.
/// - `begin_update<Sizes>(own, device, memory, first)`: the same for one of the parts of a weight update.
///
/// Weights:
/// - `initial_values<Plan, Parameter>(seed, to)`: the first values of a weight, row by row.
/// - `step_weights<Plan, PlanOfCall>`: what steps read in place of the stored weights, if `replaces_weights`, and
///   besides them, if `prepares_weights`. `derive(stored)` makes both, after the weights have changed.
///   Steps may keep states between batches in what `derive` has made: then `store_states(stored, are_ahead)` copies
///   them to the stored ones, if those in `prepared` are ahead, and returns `stored`.
/// - `copy_weight<Plan, Parameter>(memory, from, to)`: copies a weight for a pass.
/// - `given_weights<Plan>(weights)`: a program, or a file, has written all weights.
///
/// Steps:
/// - `input<Plan>(memory, call)`: where the infeed writes an input; `inputs<Plan>(memory)`: it has written all of them.
/// - `step<Plan, Call, Backward>(memory)`: carries out a step.
/// - `reads_sample<Plan>()`, `writes_result<Plan>()`: whether the steps read the plan's `lone_input` at
/// `memory.samples`
///   if that is set, and no further, and write its `lone_output` to `memory.result`, after all that they read.
/// - `devices_have_teams`: whether several threads may carry out the same step together. Then each of them calls
/// `step`,
///   which divides its work among them (device_threads).
/// - `joins_passes`: whether what the passes of a model without stages hold may lie in one block (whole_pass), and
///   samples may be read where the caller has them.
/// - `joins_updates<Machine>`: whether backward steps may update the weights of such a model. Then `update` does
/// nothing
///   for these weights (weight_facts::is_joined), and is not called for them with `joins_passes`.
/// - `joins_epilogues`: whether a step may do those that follow it while its results are in registers (step_epilogue).
/// - `addition<Plan>(memory, added, number)`: adds a gradient that has arrived to another one.
/// - `clears_accumulators<Plan>`: whether the engine calls `begin_gradient<Plan, Call, Parameter>(memory)` before the
///   backward steps that add to the gradient of a weight.
///
/// Losses:
/// - `loss<Plan, Output>(memory, prediction, targets, scales, gradient)`: returns the loss, and writes its gradient.
/// - `output<Plan, Output>(memory, value)`: turns logits that the loss has taken into the output, in their place.
/// - `prediction<Plan, Output>(memory, value)`: the output as floats.
///
/// Updates:
/// - `sum_of_calls<Plan, Parameter>(memory)`: adds up the gradients of all calls of a layer.
/// - `sum_of_replicas<Plan, Parameter>(memory, gradients, replica, elements)`: adds up those of all replicas.
/// - `sum_of_processes<Plan, Parameter>(sum, micro_batch)`: looks at gradients that several processes have added up
///   (processes.hpp).
/// - `penalty_gradient<Plan, Parameter>(memory, times, is_shared)`: adds `times` the gradient of the user's own
/// penalty.
/// - `add_squares<Plan, Parameter, Norms>(memory, state, elements, sums)`: adds squares for the norms that the
///   optimizer's step reads, of a block of elements; `Norms` has a bit for each norm.
/// - `squares<Plan, Parameter, Round>(memory, state, is_shared, sums)`: sees the sums of a whole weight, sums[i] for
///   norm i, and may replace them by its own.
/// - `update<Plan, Parameter>(memory, state, elements)`: the optimizer's step on a range of a weight.
/// - `constraint<Plan, Parameter>(memory, is_shared)`: applies the weight's constraint.
/// - `penalty<Plan, Parameter>(weights, workspace)`: the penalty of a weight's regularizer.
///
/// Transfers:
/// - `transfer(from, to, floats)`: copies a tensor to another device, or to remote memory and back.
///
/// Each of these functions may throw what ends the execution.
template <class Policy, class Plan, class Sizes>
concept ExecutionPolicy = requires(
    typename Policy::template replica_memory<Sizes>& own, pass_memory& memory, float* values, float const* weights,
    pass_addition const& added, loss_gradient const& gradient, optimizer_state const& state,
    kernels::share::range const& elements, std::array<float*, static_cast<std::size_t>(Sizes::replicas)> const& all) {
  { Policy::devices_have_teams } -> std::convertible_to<bool>;
  { Policy::joins_passes } -> std::convertible_to<bool>;
  { Policy::joins_epilogues } -> std::convertible_to<bool>;
  { Policy::template joins_updates<typename Plan::machine> } -> std::convertible_to<bool>;
  { Policy::template clears_accumulators<Plan> } -> std::convertible_to<bool>;
  { Policy::template workspace<Plan, 0>() } -> std::same_as<workspace_size>;
  { Policy::template update_workspace<Plan>() } -> std::same_as<long long>;
  { Policy::template widened_floats<Plan>() } -> std::same_as<long long>;
  Policy::template begin_pass<Sizes>(own, true, 0, 0, memory);
  Policy::template begin_update<Sizes>(own, 0, memory, true);
  Policy::template initial_values<Plan, 0>(std::uint64_t{}, values);
  Policy::template copy_weight<Plan, 0>(memory, weights, values);
  Policy::template given_weights<Plan>(values);
  { Policy::template input<Plan>(memory, 0) } -> std::same_as<float*>;
  Policy::template inputs<Plan>(memory);
  Policy::template step<Plan, 0, false>(memory);
  Policy::template addition<Plan>(memory, added, 0);
  Policy::template begin_gradient<Plan, 0, 0>(memory);
  { Policy::template loss<Plan, 0>(memory, values, values, values, gradient) } -> std::same_as<float>;
  Policy::template output<Plan, 0>(memory, values);
  { Policy::template prediction<Plan, 0>(memory, values) } -> std::same_as<float const*>;
  Policy::template sum_of_calls<Plan, 0>(memory);
  Policy::template sum_of_replicas<Plan, 0>(memory, all, 0, elements);
  Policy::template penalty_gradient<Plan, 0>(memory, 1.0F, false);
  Policy::template add_squares<Plan, 0, 0U>(memory, state, elements, static_cast<double*>(nullptr));
  Policy::template squares<Plan, 0, 0>(memory, state, false, static_cast<double*>(nullptr));
  Policy::template update<Plan, 0>(memory, state, elements);
  Policy::template constraint<Plan, 0>(memory, false);
  { Policy::template penalty<Plan, 0>(weights, values) } -> std::same_as<float>;
  Policy::transfer(weights, values, std::size_t{});
};

}  // namespace stagecraft::engine
