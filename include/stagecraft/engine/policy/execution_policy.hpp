// SPDX-License-Identifier: BSD-3-Clause
// How a machine carries out what a plan says: the one place where engines differ. Engines decide what is done when, by
// which thread and in which memory; a policy carries out each of these things.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <stagecraft/threads/share.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace stagecraft::engine {

/// The policy of a machine: `type`. A machine's policy is said by a specialisation, which has to be included wherever
/// models are run on that machine; without one, the machine can be described and profiled, but carries out nothing
/// (E4092).
template <class Machine>
struct policy_of_machine {
  using type = void;
};
template <class Machine>
using policy_of = typename policy_of_machine<Machine>::type;

/// Whether the program knows how a machine carries out a step.
template <class Machine>
inline constexpr bool is_carried_out = !std::is_void_v<policy_of<Machine>>;

/// What policies are asked with in the concept below: `on_host` carries out on the host what the policy is asked for.
struct any_host_step {
  template <class... Any>
  void operator()(Any const&...) const {}
};
struct any_host_loss {
  float operator()() const { return 0; }
};

/// What an engine asks of a machine. All functions are static; `Plan` is the plan of a pass (step_plan) and
/// `Sizes` the sizes of a replica's memory (pipeline_sizes). Where a function takes `on_host`, that carries the same
/// thing out with the host's kernels on the host's memory, where everything lies: a policy calls it once, before or
/// after what it does itself, or does it in its own way and leaves the results there.
///
/// Allocate a device's memory:
/// - `replica_memory<Sizes>`: what one replica needs besides the host's memory; made once, never copied.
/// - `memory_problem<Job>()`: why a model does not fit, if it does not; shown where a trainer is named.
/// - `begin_pass<Sizes>(own, trains, pass, device, memory)`: tells the steps of a pass where that is.
/// - `begin_update<Sizes>(own, device, memory, first)`: the same for a weight update, which consists of several parts.
///
/// Carry out an operation:
/// - `step<Plan, Call, Backward>(memory, on_host)`: a layer's step; `on_host(memory)`.
/// - `devices_have_teams`: whether several threads may carry out the same step together. Then `on_host` divides it
///   among them, and each of them asks the policy for it; else one thread does.
/// - `joins_passes`: whether what the passes of a model without stages hold may lie in one block (whole_pass), and
///   samples may be read where the caller has them.
/// - `joins_updates<Machine>`: whether the weights of such a model may be updated by the backward steps that find their
///   gradients. Then `on_host` of their `update` does nothing, and nobody asks for it with `joins_passes`.
/// - `joins_epilogues`: whether a step may do those that follow it while its results are in registers (step_epilogue).
/// - `clears_accumulators<Plan>`, `accumulates_halves<Plan>`: whether the engine makes gradients of weights ready for a
///   backward step that adds to them, and whether it adds what steps have written to sums in half precision.
///
/// A loss:
/// - `loss<Plan, Output>(memory, prediction, targets, scales, gradient, on_host)`: gives it, and its gradient.
/// - `output<Plan, Output>(memory, value, on_host)`: logits that the loss has taken become the output, in their place.
///
/// An update:
/// - `sum_of_calls<Plan, Parameter>(memory, on_host)`: the gradients of all calls of a layer become one.
/// - `sum_of_replicas<Plan, Parameter>(memory, gradients, replica, elements, on_host)`: those of all replicas.
/// - `penalty_gradient<Plan, Parameter>(memory, is_shared, on_host)`: that of the user's own penalty is added.
/// - `squares<Plan, Parameter, Round>(memory, state, is_shared, sums, on_host)`: sums of squares for the norms of a
/// round
///   that the optimizer's step reads, of the whole weight: sums[i] is that of norm i.
/// - `update<Plan, Parameter>(memory, state, elements, on_host)`: the optimizer's step on a range of a weight.
/// - `constraint<Plan, Parameter>(memory, is_shared, on_host)`: what becomes of the weight after it.
///
/// A transfer:
/// - `inputs<Plan>(memory)`: what the host has brought for a micro-batch is there.
/// - `transfer(from, to, floats)`: a tensor goes to another device, or to remote memory and back.
/// - `addition<Plan>(memory, added, number, on_host)`: a gradient that has come is added to another one.
/// - `copied_weight<Plan, Parameter>(memory, copy)`, `given_weights<Plan>(weights)`: a pass has copied a weight; a
///   program, or a file, has brought all of them.
///
/// Watch numbers: each of these functions may throw what ends the execution.
///
/// `host_policy` does nothing of its own; one that derives from it says only what is different.
template <class Policy, class Plan, class Sizes>
concept ExecutionPolicy = requires(typename Policy::template replica_memory<Sizes>& own, host_memory& memory,
                                   float* values, pass_addition const& added, loss_gradient const& gradient,
                                   optimizer_state const& state, kernels::share::range const& elements,
                                   std::array<float*, static_cast<std::size_t>(Sizes::replicas)> const& all,
                                   any_host_step const& on_host, any_host_loss const& on_host_loss) {
  { Policy::devices_have_teams } -> std::convertible_to<bool>;
  { Policy::joins_passes } -> std::convertible_to<bool>;
  { Policy::joins_epilogues } -> std::convertible_to<bool>;
  { Policy::template joins_updates<typename Plan::machine> } -> std::convertible_to<bool>;
  { Policy::template clears_accumulators<Plan> } -> std::convertible_to<bool>;
  { Policy::template accumulates_halves<Plan> } -> std::convertible_to<bool>;
  Policy::template begin_pass<Sizes>(own, true, 0, 0, memory);
  Policy::template begin_update<Sizes>(own, 0, memory, true);
  Policy::template step<Plan, 0, false>(memory, on_host);
  { Policy::template loss<Plan, 0>(memory, values, values, values, gradient, on_host_loss) } -> std::same_as<float>;
  Policy::template output<Plan, 0>(memory, values, on_host);
  Policy::template sum_of_calls<Plan, 0>(memory, on_host);
  Policy::template sum_of_replicas<Plan, 0>(memory, all, 0, elements, on_host);
  Policy::template penalty_gradient<Plan, 0>(memory, false, on_host);
  Policy::template squares<Plan, 0, 0>(memory, state, false, static_cast<double*>(nullptr), on_host);
  Policy::template update<Plan, 0>(memory, state, elements, on_host);
  Policy::template constraint<Plan, 0>(memory, false, on_host);
  Policy::template inputs<Plan>(memory);
  Policy::transfer(values, values, std::size_t{});
  Policy::template addition<Plan>(memory, added, 0, on_host);
  Policy::template copied_weight<Plan, 0>(memory, values);
  Policy::template given_weights<Plan>(values);
};

}  // namespace stagecraft::engine
