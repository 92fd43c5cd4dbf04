// SPDX-License-Identifier: BSD-3-Clause
// Whole steps of a layer as one task: of a layer that has loops of its own, which is one vertex on tile 0 with whole
// tensors, and of a layer that is written as a `call`, which is a list of other tasks.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// There may be more tensors than one task can name: tasks before it, which do nothing, name the rest.
struct named_tensors {
  static constexpr int most = lowered_step::most_tensors;
  int inputs[most]{}, outputs[most]{};
  int input_count = 0, output_count = 0;

  constexpr named_tensors() = default;
  constexpr named_tensors(lowered_step const& step, task const& task) {
    auto const* own_step = task.what.if_is<own_layer_step>();
    for (auto i = own_step != nullptr ? own_step->first : task.what.as<traced_tasks>().first;
         step.tasks[i].what.is<tensor_names>(); ++i)
      add(step.tasks[i]);
    add(task);
  }

  constexpr void add_input(int tensor) { inputs[input_count++] = tensor; }
  constexpr void add_output(int tensor) { outputs[output_count++] = tensor; }
  /// True if it is read: an output that is read, too, such as a weight that the layer updates, has one place.
  [[nodiscard]] constexpr bool reads(int tensor) const {
    for (int i = 0; i < input_count; ++i)
      if (inputs[i] == tensor) return true;
    return false;
  }

 private:
  constexpr void add(task const& task) {
    for (int i = 0; i < task.input_count; ++i) add_input(task.inputs[i]);
    for (int i = 0; i < task.output_count; ++i) add_output(task.outputs[i]);
  }
};

/// Appends a task on all of these tensors.
template <class What>
constexpr task& append_with_tensors(lowered_step& step, What what, named_tensors const& tensors) {
  what.first = step.task_count;
  int input = 0, output = 0;
  auto const name_some = [&](task& task) {
    while (input < tensors.input_count && task.input_count < task::most_inputs)
      task.inputs[task.input_count++] = tensors.inputs[input++];
    while (output < tensors.output_count && task.output_count < task::most_outputs)
      task.outputs[task.output_count++] = tensors.outputs[output++];
  };
  while (tensors.input_count - input > task::most_inputs || tensors.output_count - output > task::most_outputs)
    name_some(step.add(tensor_names{std::is_same_v<What, own_layer_step> ? 0 : 1}, {}, {}));
  auto& task = step.add(what, {}, {});
  name_some(task);
  return task;
}

constexpr void append_custom(lowered_step& step, custom_function function, named_tensors const& tensors,
                             std::int64_t cycles, std::int64_t flops) {
  append_with_tensors(step, own_layer_step{function, cycles, flops}, tensors);
}

/// Cycles of the worker for a step of the layer. The layer may say so itself, for a whole batch of inputs `in`:
///
///     constexpr std::int64_t forward_cycles(sc::layer_inputs const& in, int batch) const;
///     constexpr std::int64_t backward_cycles(sc::layer_inputs const& in, int batch) const;
///
/// counts instructions of one worker, which issues one in every sixth cycle of the tile. Otherwise this is assumed:
/// scalar code with two loads and the operation, 3 instructions, for each multiply-add that `flops` counts, or, where
/// these are more, for each element of inputs, weights and output; one more to store each element of the output.
/// A backward step takes twice as much, for the gradients of inputs and weights.
template <class Call>
constexpr std::int64_t custom_cycles(bool backward) {
  shape shapes[Call::input_count]{};
  std::int64_t elements = Call::output_elements();
  for (int i = 0; i < Call::input_count; ++i) {
    shapes[i] = Call::input_shape(i);
    elements += Call::input_elements(i);
  }
  for (int i = 0; i < Call::parameter_count; ++i) elements += Call::parameter_info(i).size();
  diagnostic problem;
  layer_inputs const in(shapes, Call::input_count, {}, problem);
  if constexpr (requires { Call::layer.forward_cycles(in, Call::batch); })
    if (!backward) return Call::layer.forward_cycles(in, Call::batch);
  if constexpr (requires { Call::layer.backward_cycles(in, Call::batch); })
    if (backward) return Call::layer.backward_cycles(in, Call::batch);
  std::int64_t const products = ceil_div(Call::flops(), 2);
  return (3 * larger(products, elements) + Call::output_elements()) * (backward ? 2 : 1);
}
template <class Call>
constexpr std::int64_t custom_flops(bool backward) {
  return Call::flops() * (backward ? 2 : 1);
}

/// A layer's forward step. `Call` is a lowered_call.
template <class Call>
constexpr void append_custom_forward(lowered_step& step) {
  named_tensors tensors;
  for (int i = 0; i < Call::input_count; ++i) tensors.add_input(Call::input(step, i));
  for (int i = 0; i < Call::parameter_count; ++i) tensors.add_input(Call::stored_weight(step, i));
  tensors.add_output(Call::output(step));
  if (Call::trains && Call::planned.needs.saved > 0)
    tensors.add_output(Call::saved(step, 0, Call::planned.needs.saved, dtype::float32));
  if (Call::trains)
    for (int i = 0; i < Call::parameter_count; ++i)
      if ((Call::planned.needs.updated_weights >> i & 1U) != 0) tensors.add_output(Call::stored_weight(step, i));
  append_custom(step, custom_function::forward, tensors, custom_cycles<Call>(false), custom_flops<Call>(false));
}

/// A layer's backward step: it writes the gradients of all inputs that are wanted, and of all trained weights.
template <class Call>
constexpr void append_custom_backward(lowered_step& step) {
  auto const& needs = Call::planned.needs;
  named_tensors tensors;
  for (int i = 0; i < Call::input_count; ++i)
    if (needs.input) tensors.add_input(Call::input(step, i));
  for (int i = 0; i < Call::parameter_count; ++i) tensors.add_input(Call::stored_weight(step, i));
  if (needs.output) tensors.add_input(Call::output(step));
  if (needs.saved > 0) tensors.add_input(Call::saved(step, 0, needs.saved, dtype::float32));
  tensors.add_input(Call::output_gradient(step));
  for (int i = 0; i < Call::input_count; ++i)
    if (Call::wants_input_gradient(i)) tensors.add_output(Call::input_gradient(step, i));
  for (int i = 0; i < Call::parameter_count; ++i)
    if (Call::parameter_info(i).trainable) tensors.add_output(Call::weight_gradient(step, i));
  append_custom(step, custom_function::backward, tensors, custom_cycles<Call>(true), custom_flops<Call>(true));
}

/// The user's code computes with float32 in any case: tensors of float16 are converted before and after it, by all
/// workers of the tile.
constexpr std::int64_t custom_tile_cycles(lowered_step const& step, task const& task, ipu_target const& target) {
  named_tensors const tensors(step, task);
  std::int64_t cycles = target.num_worker_contexts * task.what.as<own_layer_step>().cycles;
  for (int i = 0; i < tensors.input_count; ++i)
    if (auto const& tensor = step.tensors[tensors.inputs[i]]; tensor.type == dtype::float16)
      cycles += vertices::cast{dtype::float16, dtype::float32, tensor.elements}.cycles(target);
  for (int i = 0; i < tensors.output_count; ++i)
    if (auto const& tensor = step.tensors[tensors.outputs[i]]; tensor.type == dtype::float16)
      cycles += vertices::cast{dtype::float32, dtype::float16, tensor.elements}.cycles(target);
  return cycles;
}

/// Tile 0 receives all inputs, and has room for them and for the results, of float16 in both types.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, own_layer_step const& what,
                                               ipu_target const& target) {
  operation_cost cost;
  named_tensors const tensors(step, task);
  auto const add_memory = [&](tile_tensor const& tensor) {
    cost.temporary_bytes += rounded_bytes(tensor.elements * size_of(tensor.type));
    if (tensor.type == dtype::float16) cost.temporary_bytes += rounded_bytes(tensor.elements * size_of(dtype::float32));
  };
  std::int64_t received = 0, sent = 0;
  for (int i = 0; i < tensors.input_count; ++i) {
    auto const& tensor = step.tensors[tensors.inputs[i]];
    received += tensor.elements * size_of(tensor.type);
    add_memory(tensor);
  }
  for (int i = 0; i < tensors.output_count; ++i) {
    auto const& tensor = step.tensors[tensors.outputs[i]];
    sent += tile_mapping(tensor, target).elements_of(0) * size_of(tensor.type);
    if (!tensors.reads(tensors.outputs[i])) add_memory(tensor);
  }
  cost.add_exchange(target, received);
  cost.add_compute_set(custom_tile_cycles(step, task, target));
  cost.add_exchange(target, sent);
  cost.flops = what.flops;
  return cost;
}

/// `tensors` has as inputs all tensors that the task list reads, in its order, and as outputs those that it writes.
constexpr void append_task_list(lowered_step& step, task_list_view const& list, named_tensors const& tensors) {
  append_with_tensors(step, traced_tasks{}, tensors).list = &list;
}

/// The cost is found once, with the task list.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const&, task const& task, traced_tasks const&,
                                               ipu_target const&) {
  return task.list->cost;
}

}  // namespace stagecraft::tiles
