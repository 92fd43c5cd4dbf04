// SPDX-License-Identifier: BSD-3-Clause
// All steps of a job as tasks on the tiles of an IPU, and their costs: layers' steps, losses, the activations that
// losses apply, updates of weights. There is one constant for each step.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/lowerings.hpp>
#include <stagecraft/ipu/lowering/update.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/plan/logits.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/pipeline_flow.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// Tensors: the output (input 0), targets (class numbers as float32), the rows' scales, the loss as one number, and in
/// training the gradient of the output, to which this is added if another loss has written it. It is scaled by the
/// output's weight, and so that gradients of micro-batches only have to be added; the loss is not.
template <class Job, std::size_t Output>
constexpr lowered_step lower_loss() {
  using loss_type = std::remove_cvref_t<decltype(computed_loss_of<typename Job::described, Output>)>;
  static_assert(
      HasLossCall<loss_type>,
      "stagecraft: an emulated IPU knows the losses of this library, and those that are written as a `call`, see "
      "ipu/lowering/lowered_steps.hpp [E2062]");
  constexpr auto const& graph = Job::graph;
  constexpr int call = graph.ends[Output];
  constexpr shape const& output_shape = graph.call(call).shape;
  constexpr dtype type = value_types_of<Job>[call];
  constexpr pipelining_options options = Job::options;
  constexpr int columns = loss_columns_of<typename Job::described, Output>;
  std::int64_t const elements = std::int64_t{Job::training.batch_size} * output_shape.size(), rows = elements / columns;
  lowered_step step;
  if constexpr (HasLossCall<loss_type>) {
    constexpr loss_type loss = computed_loss_of<typename Job::described, Output>;
    int const prediction = step.tensor(tensor_role::input, 0, type, elements);
    int const targets = step.tensor(tensor_role::target, 0, dtype::float32, rows * target_columns_of(loss, columns));
    int const scales = step.tensor(tensor_role::sample_scale, 0, dtype::float32, rows);
    int const result = step.tensor(tensor_role::loss, 0, dtype::float32, 1);
    auto role = gradient_role::none;
    if constexpr (Job::trains) role = flow_of<Job>.loss_role[Output];
    int gradient = -1, written = -1;
    if (role != gradient_role::none) written = gradient = step.tensor(tensor_role::output_gradient, 0, type, elements);
    if (role == gradient_role::add) written = step.temporary(elements, type);
    constexpr auto optimizer = Job::training.optimizer;
    loss_scale scale{.factor = loss_weight_of<Job>(Output) * loss_scale_of(optimizer)};
    if (options.reduction_method == gradient_accumulation_reduction_method::mean)
      scale.factor *= 1.0F / static_cast<float>(options.accumulation_steps());
    scale.running_mean = options.reduction_method == gradient_accumulation_reduction_method::running_mean;
    scale.rows_per_sample = output_shape.size() / columns;
    append_loss(step, rule_of_loss<loss, columns>(written >= 0), prediction, targets, scales, result, written, rows,
                columns, scale);
    if (written != gradient) append_map(step, map_function::add, gradient, {{gradient}, {written}});
  }
  return step;
}

/// Turns logits into the output, in place; tensor: the output. Empty where the loss takes no logits.
template <class Job, std::size_t Output>
constexpr lowered_step lower_output() {
  lowered_step step;
  if constexpr (takes_logits<Job, Output>) {
    constexpr activation function = last_activations_of<typename Job::model>[Output].function;
    constexpr shape const& output_shape = Job::graph.call(Job::graph.ends[Output]).shape;
    std::int64_t const columns = output_shape.back(),
                       elements = std::int64_t{Job::training.batch_size} * output_shape.size();
    int const output = step.tensor(tensor_role::output, 0, value_types_of<Job>[Job::graph.ends[Output]], elements);
    if (function.kind == activation_kind::softmax)
      append_softmax(step, output, output, elements / columns, columns, 1);
    else
      append_activation_map(step, function, output, output);
  }
  return step;
}

template <class Call, bool Backward>
constexpr lowered_step lower() {
  if constexpr (Backward)
    return lower_backward<Call>();
  else
    return lower_forward<Call>();
}

// One constant serves all divisions of a model into stages, and all numbers of IPUs.
template <class Call, bool Backward>
inline constexpr lowered_step step_of_call = lower<Call, Backward>();
template <class Call, bool Backward>
inline constexpr step_cost cost_of_call{step_of_call<Call, Backward>, Call::machine::target};

/// A step on a weight, or for its norms, cut down to the part that one replica updates if replicas share the state.
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

/// The cost of a call's step on one IPU.
template <class Job, int Pass, int Call, bool Backward>
inline constexpr step_cost const& step_cost_of = detail::cost_of_call<lowered_call<Job, Pass, Call>, Backward>;

/// The loss of an output, and in training its gradient, after the last stage's forward pass.
template <class Job, std::size_t Output>
inline constexpr lowered_step lowered_loss_of = lower_loss<Job, Output>();

template <class Job, std::size_t Output>
inline constexpr step_cost loss_cost_of{lowered_loss_of<Job, Output>, Job::machine::target};

/// Logits that become an output after its loss, in training, evaluation and prediction.
template <class Job, std::size_t Output>
inline constexpr lowered_step lowered_output_of = lower_output<typename Job::described, Output>();

template <class Job, std::size_t Output>
inline constexpr step_cost output_cost_of{lowered_output_of<Job, Output>, Job::machine::target};

/// The update of one weight by its gradients, collectives of replicas excluded. If weights or optimizer state are
/// sharded, it updates one replica's part.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_update_of = detail::part_of_replica<Job>(lower_update<Job, Parameter>());

/// The sums of squares that a weight, or a replica's part of it, contributes to norms over all weights, before the
/// updates. Empty if there are no such norms.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_squares_of = part_of_replica<Job>(lower_squares<Job, Parameter>());

template <class Job, std::size_t Parameter>
inline constexpr step_cost squares_cost_of{lowered_squares_of<Job, Parameter>, Job::machine::target};

/// Adds the gradient of the user's own penalty of the weight, before the update. Empty if there is none.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_penalty_of = lower_penalty<Job, Parameter>();

template <class Job, std::size_t Parameter>
inline constexpr step_cost penalty_cost_of{lowered_penalty_of<Job, Parameter>, Job::machine::target};

/// Applies the constraint after the update. It costs as much where each replica has updated a part of the weight.
template <class Job, std::size_t Parameter>
inline constexpr lowered_step lowered_constraint_of = lower_constraint<Job, Parameter>();

template <class Job, std::size_t Parameter>
inline constexpr step_cost constraint_cost_of{lowered_constraint_of<typename Job::described, Parameter>,
                                              Job::machine::target};

template <class Job, std::size_t Parameter>
inline constexpr step_cost update_cost_of{lowered_update_of<Job, Parameter>, Job::machine::target};

}  // namespace stagecraft::tiles
