// SPDX-License-Identifier: BSD-3-Clause
// All steps of a program, lowered to operations on the tiles of an IPU, and what each costs: one constant per step.
#pragma once

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/loss.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/lowerings.hpp>
#include <stagecraft/ipu/lowering/update.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstddef>

namespace stagecraft::tiles {

template <class Call, bool Backward>
constexpr lowered_step lower() {
  if constexpr (Backward)
    return lower_backward<Call>();
  else
    return lower_forward<Call>();
}

// Once for all stages that a model is divided into, and all numbers of IPUs.
template <class Call, bool Backward>
inline constexpr lowered_step step_of_call = lower<Call, Backward>();
template <class Call, bool Backward>
inline constexpr step_cost cost_of_call{step_of_call<Call, Backward>, Call::machine::target};

/// The update of a weight, or what its norms need, of the part of it that one replica changes if replicas share its
/// state.
template <class Job>
constexpr lowered_step part_of_replica(lowered_step step) {
  constexpr int replicas = Job::replicas;
  constexpr auto const& options = Job::options;
  if (!options.replicated_optimizer_state_sharding && !options.replicated_weight_sharding) return step;
  for (int i = 0; i < step.tensor_count; ++i) step.tensors[i].elements = ceil_div(step.tensors[i].elements, replicas);
  return step;
}

/// A call's forward step in the forward pass of its stage, or its backward step in the backward pass. A forward step
/// that is carried out again is the same. Inputs and views have none.
template <class Job, int Pass, int Call, bool Backward>
inline constexpr lowered_step const& lowered_step_of = detail::step_of_call<lowered_call<Job, Pass, Call>, Backward>;

/// What a call's step costs on one IPU.
template <class Job, int Pass, int Call, bool Backward>
inline constexpr step_cost const& step_cost_of = detail::cost_of_call<lowered_call<Job, Pass, Call>, Backward>;

/// The loss of an output, and in training its gradient, behind the last stage's forward pass.
template <class Job, std::size_t Output>
inline constexpr lowered_step lowered_loss_of = lower_loss<Job, Output>();

template <class Job, std::size_t Output>
inline constexpr step_cost loss_cost_of{lowered_loss_of<Job, Output>, Job::machine::target};

/// Logits that become an output after its loss, in training, evaluation and prediction.
template <class Job, std::size_t Output>
inline constexpr lowered_step lowered_output_of = lower_output<typename Job::described, Output>();

template <class Job, std::size_t Output>
inline constexpr step_cost output_cost_of{lowered_output_of<Job, Output>, Job::machine::target};

/// The update of one weight by its gradients, without what replicas say to each other; of a replica's part of it, if
/// weights or optimizer state are sharded.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_update_of = detail::part_of_replica<Job>(lower_update<Job, Parameter>());

/// What the weight contributes to norms over all weights, before the updates; of a replica's part of it likewise.
/// Nothing if there are none.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_squares_of = part_of_replica<Job>(lower_squares<Job, Parameter>());

template <class Job, std::size_t Parameter>
inline constexpr step_cost squares_cost_of{lowered_squares_of<Job, Parameter>, Job::machine::target};

/// What the user's own penalty of the weight adds to its gradients before the update. Nothing if there is none.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_penalty_of = lower_penalty<Job, Parameter>();

template <class Job, std::size_t Parameter>
inline constexpr step_cost penalty_cost_of{lowered_penalty_of<Job, Parameter>, Job::machine::target};

/// What the weight becomes after it. It costs as much where each replica has updated a part of the weight.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_constraint_of = lower_constraint<Job, Parameter>();

template <class Job, std::size_t Parameter>
inline constexpr step_cost constraint_cost_of{lowered_constraint_of<typename Job::described, Parameter>,
                                              Job::machine::target};

template <class Job, std::size_t Parameter>
inline constexpr step_cost update_cost_of{lowered_update_of<Job, Parameter>, Job::machine::target};

}  // namespace stagecraft::tiles
