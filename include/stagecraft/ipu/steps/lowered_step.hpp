// SPDX-License-Identifier: BSD-3-Clause
// A layer's forward or backward step, or a weight's update, as tasks on the tiles of an IPU. A task is compute sets of
// vertices on tiles and the exchanges between them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <stagecraft/ipu/steps/task_work.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::operations {
struct formula_view;
struct plan_view;
}  // namespace stagecraft::operations

namespace stagecraft::tiles {

struct task_list_view;

/// The work of a task, and its tensors. For each kind, `cost_of` (ipu/tasks/) says what that costs, and `run`
/// (ipu/tiles/codelets/) does it.
struct task {
  static constexpr int most_inputs = map_task::most_inputs, most_outputs = 7;

  task_work what;
  int input_count = 0;
  int output_count = 0;
  int inputs[most_inputs]{};    ///< tensors of the step, by their numbers
  int outputs[most_outputs]{};  ///< numbers of tensors; one may be an input, too, which is then changed in place
  int plan = -1;                ///< number of a planned_product's plan in the step
  operations::formula_view const* formula = nullptr;  ///< an optimizer's step, a loss or a user's activation
  operations::plan_view const* row_plan = nullptr;    ///< the plan of one row of a user's loss
  task_list_view const* list = nullptr;               ///< the tasks of a traced_tasks
};

// No constant evaluation can call these: compilers then print their names.
inline void step_has_more_tensors_than_there_is_room_for() {}
inline void step_has_more_tasks_than_there_is_room_for() {}

/// Tasks in their order, and the tensors that they work on. Written by `lowering` (ipu/lowering/), priced by
/// `cost_of` (ipu/tasks/), carried out by ipu/emulation/.
struct lowered_step {
  /// The numbers of those temporary tensors that are gradients, or inputs in another type; others count from 0.
  static constexpr int first_weight_gradient = 100, first_input_gradient = 200, first_cast_input = 300;
  static constexpr int most_tensors = 56, most_tasks = 72, most_plans = 4;
  static constexpr int most_saved = 24;  ///< tensors with this role

  tile_tensor tensors[most_tensors]{};
  task tasks[most_tasks]{};
  convolution_shape shapes[most_plans]{};
  convolution_plan plans[most_plans]{};
  int tensor_count = 0;
  int task_count = 0;
  int plan_count = 0;

  /// The number of a tensor, which is added if the step does not have it yet.
  constexpr int tensor(tensor_role role, int index, dtype type, std::int64_t elements,
                       weight_mapping const* planned = nullptr) {
    for (int i = 0; i < tensor_count; ++i)
      if (tensors[i].role == role && tensors[i].index == index) return i;
    if (tensor_count == most_tensors) step_has_more_tensors_than_there_is_room_for();
    tensors[tensor_count] = {role, index, type, elements, planned};
    return tensor_count++;
  }
  /// A tensor of this step alone, which takes memory from the first task that names it to the last.
  constexpr int temporary(std::int64_t elements, dtype type, weight_mapping const* planned = nullptr) {
    int index = 0;
    for (int i = 0; i < tensor_count; ++i)
      if (tensors[i].role == tensor_role::temporary) ++index;
    return tensor(tensor_role::temporary, index, type, elements, planned);
  }

  /// Appends a task.
  constexpr task& add(task_work const& what, std::initializer_list<int> inputs, std::initializer_list<int> outputs) {
    if (task_count == most_tasks) step_has_more_tasks_than_there_is_room_for();
    task& task = tasks[task_count++];
    task.what = what;
    for (int const input : inputs) task.inputs[task.input_count++] = input;
    for (int const output : outputs) task.outputs[task.output_count++] = output;
    return task;
  }
  /// Keeps a plan and says its number.
  constexpr int add_plan(convolution_shape const& shape, convolution_plan const& plan) {
    shapes[plan_count] = shape;
    plans[plan_count] = plan;
    return plan_count++;
  }

  [[nodiscard]] constexpr tile_tensor const& input_of(task const& task, int index = 0) const {
    return tensors[task.inputs[index]];
  }
  [[nodiscard]] constexpr tile_tensor const& output_of(task const& task, int index = 0) const {
    return tensors[task.outputs[index]];
  }
};

}  // namespace stagecraft::tiles
