// SPDX-License-Identifier: BSD-3-Clause
// The update of a weight, and functions of a weight such as its constraint, as tasks on the tiles of an IPU.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/lowering/lowering.hpp>
#include <stagecraft/ipu/lowering/traced/traced_steps.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// Appends a plan whose input is a weight. `result`, of type `type`, receives its result. It may be the weight, which
/// is then written by a task that has read the same elements, or by a copy at the end.
template <std::same_as<operations::plan_view> Plan>  // a template, so that few programs compile it
constexpr void append_plan_of_weight(lowered_step& step, Plan const& plan, int weight, int result, dtype type) {
  constexpr ipu_target any;  // none of these tasks depends on it
  traced_options const options{.type = type, .variable_type = type, .target = any};
  traced_steps<> const steps(plan, options, false, {}, {}, 1);
  auto const role_of = [&](int tensor) {
    auto const& [of, offset, given, written] = steps.builder.tensors[tensor];
    return given >= 0 ? of.role : tensor_role::temporary;
  };
  bool is_written = false, may_write = true;
  for (task const& each : steps.builder.tasks) {
    bool const writes = role_of(each.outputs[0]) == tensor_role::output;
    is_written = is_written || writes;
    for (int i = 0; i < each.input_count; ++i)
      if (is_written && role_of(each.inputs[i]) == tensor_role::input)
        may_write = may_write && writes && each.what.is<map_task>() && each.what.as<map_task>().reads[i].count == 0;
  }
  bool const copies = result == weight && !may_write;
  int const written = copies ? step.temporary(plan.nodes[plan.output].shape.size(), type) : result;
  append_tasks(step, steps.builder,
               [&](tile_tensor const& given) { return given.role == tensor_role::input ? weight : written; });
  if (copies) append_map(step, map_function::copy, result, {{written}});
}

/// The calls of a weight's layer that have a gradient, and so an accumulator.
template <class Job, std::size_t Parameter>
constexpr int accumulators_of_weight() {
  return gradients_of_weight(Job::graph, model_plan_for<typename Job::in_training>, static_cast<int>(Parameter));
}

/// The sum of a weight's gradients over the calls of its layer, from the last call to the first as on the host; half
/// precision accumulators are added up in float32.
constexpr int append_sum_of_calls(lowered_step& step, int accumulators, dtype type, std::int64_t elements,
                                  weight_mapping const* planned) {
  auto const accumulator = [&](int call) {
    return step.tensor(tensor_role::accumulator, call, type, elements, planned);
  };
  int sum = accumulator(0);
  for (int call = 1; call < accumulators; ++call) accumulator(call);
  if (accumulators > 1 && type == dtype::float16) {
    sum = step.temporary(elements, dtype::float32, planned);
    append_map(step, map_function::copy, sum, {{accumulator(0)}});
  }
  for (int call = accumulators; --call > 0;) append_map(step, map_function::add, sum, {{sum}, {accumulator(call)}});
  return sum;
}

/// The update of a weight on one of the machine's replicas.
template <class Job, std::size_t Parameter>
inline constexpr auto const& update_on_machine = update_of_weight<typename Job::described, Parameter, Job::replicas>;

/// The optimizer's state of a weight, a tensor for each slot.
template <auto Optimizer>
constexpr void list_state(lowered_step& step, int* state, dtype type, std::int64_t elements,
                          weight_mapping const* planned) {
  for (int i = 0; i < slots_of<Optimizer>; ++i)
    state[i] = step.tensor(tensor_role::optimizer_state, i, type, elements, planned);
}

/// Calls append(constant of norm i)() for each norm that an optimizer's step reads.
template <auto Optimizer, class Append>
constexpr void for_each_norm(Append const& append) {
  for_each_index<norms_of<Optimizer>.count>(append);
}

/// True if a weight's gradient is summed over the calls of its layer before its update, for a norm over all weights.
template <auto Optimizer>
constexpr bool sums_calls_before(dtype accumulator) {
  return norms_of<Optimizer>.has_global() && accumulator == dtype::float32;
}

/// One optimizer step on a weight. Tensors: the weight (0) and the optimizer's state, by slots, in the type of the
/// layer's variables; an accumulator for each call of the layer. Their sum is the weight's gradient, which the first
/// accumulator holds afterwards unless they are in half precision. Collectives of replicas are no part of it. The
/// regularizer's gradient is scaled as on the host: each micro-batch's loss contains the penalty, in each replica. The
/// last task computes the penalty of the new weight, which the next losses contain.
template <class Job, std::size_t Parameter>
constexpr lowered_step lower_update() {
  constexpr parameter const& info = Job::graph.parameters[Parameter];
  constexpr pipelining_options options = Job::options;
  constexpr dtype variable_type = variable_types_of<Job>[Parameter];
  lowered_step step;
  int const accumulators = accumulators_of_weight<typename Job::described, Parameter>();
  if (!info.trainable || accumulators == 0) return step;
  std::int64_t const elements = info.size();
  weight_mapping const* const planned = detail::planned_weights<typename Job::in_training>[Parameter];
  int const weight = step.tensor(tensor_role::weight, 0, variable_type, elements, planned);
  bool const halves = options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
  dtype const accumulator_type = halves ? dtype::float16 : dtype::float32;
  constexpr auto const& optimizer = update_on_machine<Job, Parameter>;
  int const gradient = sums_calls_before<optimizer>(accumulator_type)
                           ? step.tensor(tensor_role::accumulator, 0, accumulator_type, elements, planned)
                           : append_sum_of_calls(step, accumulators, accumulator_type, elements, planned);
  static_assert(update_tracer::first_slot + update_tracer::most_slots + update_tracer::most_norms <=
                    task::most_inputs &&
                1 + update_tracer::most_slots <= task::most_outputs);
  int state[update_tracer::most_slots]{};
  list_state<optimizer>(step, state, variable_type, elements, planned);
  given_norm norms[update_tracer::most_norms]{};
  std::size_t found = 0;
  for_each_norm<optimizer>([&]<int Norm>() {
    if (norms_of<optimizer>.norms[Norm].is_global) return;
    int const result = step.temporary(1, dtype::float32);
    append_norm(step, view_of_norms<optimizer, 1U << Norm>, weight, gradient, state, slots_of<optimizer>,
                tracing::array_view(norms, found), result);
    norms[found++] = {result, update_tracer::first_norm + Norm};
  });
  append_update(step, view_of_optimizer<optimizer>, weight, gradient, state,
                penalty_of_update<typename Job::described, Parameter, Job::replicas>,
                tracing::array_view(norms, found));
  if (!info.regularizer.empty() && !info.regularizer.is_own())
    append_penalty(step, info.regularizer, weight, step.temporary(1, dtype::float32));
  return step;
}

/// A weight's part of norms over all weights, before any of them changes. Tensors: as in the update, and a sum of
/// squares for each of these norms, by its number; the first accumulator becomes the sum of all unless they are in half
/// precision. Empty where there is no such norm.
template <class Job, std::size_t Parameter>
constexpr lowered_step lower_squares() {
  constexpr parameter const& info = Job::graph.parameters[Parameter];
  lowered_step step;
  if constexpr (norms_of<Job::training.optimizer>.has_global() && info.trainable) {
    int const accumulators = accumulators_of_weight<typename Job::described, Parameter>();
    if (accumulators == 0) return step;
    constexpr auto const& optimizer = update_on_machine<Job, Parameter>;
    constexpr pipelining_options options = Job::options;
    constexpr dtype type = variable_types_of<Job>[Parameter];
    weight_mapping const* const planned = planned_weights<typename Job::in_training>[Parameter];
    int const weight = step.tensor(tensor_role::weight, 0, type, info.size(), planned);
    bool const halves = options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
    int const gradient =
        append_sum_of_calls(step, accumulators, halves ? dtype::float16 : dtype::float32, info.size(), planned);
    int state[update_tracer::most_slots]{};
    list_state<optimizer>(step, state, type, info.size(), planned);
    for_each_norm<optimizer>([&]<int Norm>() {
      if (norms_of<optimizer>.norms[Norm].is_global)
        append_norm(step, view_of_norms<optimizer, 1U << Norm>, weight, gradient, state, slots_of<optimizer>, {},
                    step.tensor(tensor_role::norm, Norm, dtype::float32, 1), true);
    });
  }
  return step;
}

/// Adds the gradient of a penalty of the user's own to a weight's gradient, before the update, and computes the
/// penalty. Tensors: the weight (0) and the gradient, an accumulator (0). Empty where there is none.
template <class Job, std::size_t Parameter>
constexpr lowered_step lower_penalty() {
  constexpr parameter const& info = Job::graph.parameters[Parameter];
  lowered_step step;
  if constexpr (info.regularizer.is_own() && info.trainable) {
    if (accumulators_of_weight<typename Job::described, Parameter>() == 0) return step;
    constexpr dtype type = variable_types_of<Job>[Parameter];
    constexpr float times = penalties_in_gradient<typename Job::described, Job::replicas>;
    int const weight = step.tensor(tensor_role::weight, 0, type, info.size());
    int const gradient = step.tensor(tensor_role::accumulator, 0, dtype::float32, info.size());
    int const added = step.temporary(info.size(), dtype::float32);
    append_plan_of_weight(step, plan_of_penalty<info.regularizer, info.shape, true>::value, weight, added,
                          dtype::float32);
    append_map(step, map_function::scaled_add, gradient, {{gradient}, {added}}, {times});
    append_plan_of_weight(step, plan_of_penalty<info.regularizer, info.shape, false>::value, weight,
                          step.temporary(1, dtype::float32), dtype::float32);
  }
  return step;
}

/// Applies a weight's constraint after its update. Tensors: the weight (0). Empty where there is no constraint.
template <class Job, std::size_t Parameter>
constexpr lowered_step lower_constraint() {
  constexpr parameter const& info = Job::graph.parameters[Parameter];
  lowered_step step;
  if constexpr (!info.constraint.empty() && info.trainable) {
    if (accumulators_of_weight<Job, Parameter>() == 0) return step;
    constexpr dtype type = variable_types_of<Job>[Parameter];
    int const weight = step.tensor(tensor_role::weight, 0, type, info.size());
    append_plan_of_weight(step, plan_of_constraint<info.constraint, info.shape>::value, weight, weight, type);
  }
  return step;
}

}  // namespace stagecraft::tiles
