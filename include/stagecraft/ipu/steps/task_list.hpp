// SPDX-License-Identifier: BSD-3-Clause
// What a traced layer's step consists of on the tiles of an IPU: tasks, loops and tensors, in arrays of their exact
// length.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// A loop: tasks [begin, end) are carried out `trips` times.
struct tile_loop {
  int begin = 0;
  int end = 0;
  int trips = 1;

  [[nodiscard]] constexpr bool contains(int task) const noexcept { return task >= begin && task < end; }
};

/// A tensor of the list. A temporary one lies `offset` bytes after the place where the memory of the task that runs the
/// list begins; others are tensors of the step around it, in the order in which that task names them.
struct task_list_tensor {
  tile_tensor tensor;
  std::int64_t offset = -1;
  int given = -1;        ///< number among the tensors of the task that runs the list
  bool written = false;  ///< true if a task of the list writes it
};

/// Tasks name tensors by their index in `tensors`, and plans by their index in `plans`.
struct task_list_view {
  tracing::array_view<task_list_tensor const> tensors;
  tracing::array_view<task const> tasks;
  tracing::array_view<tile_loop const>
      loops;  ///< in the order of their begin; an inner loop comes after the loop around it
  tracing::array_view<convolution_shape const> shapes;
  tracing::array_view<convolution_plan const> plans;
  tracing::array_view<std::int64_t const> copies;  ///< where the copies of each task begin
  operation_cost cost;
  // Compute sets and exchanges that trips of loops repeat.
  std::int64_t repeated_compute_sets = 0;
  std::int64_t repeated_exchanges = 0;
};

/// A step that has a single task of a list, and its tensors.
class step_of_task {
 public:
  /// `outer` has the numbers of the step's tensors in the list.
  lowered_step step;
  int outer[lowered_step::most_tensors]{};

  constexpr step_of_task() { step.task_count = 1; }

  constexpr task const& set(task_list_view const& list, task const& task) {
    step.tensor_count = step.plan_count = 0;
    auto& own = step.tasks[0];
    own = task;
    for (int i = 0; i < own.input_count; ++i) own.inputs[i] = number_of(list, own.inputs[i]);
    for (int i = 0; i < own.output_count; ++i) own.outputs[i] = number_of(list, own.outputs[i]);
    if (own.plan >= 0) {
      auto const plan = static_cast<std::size_t>(own.plan);
      own.plan = step.add_plan(list.shapes[plan], list.plans[plan]);
    }
    return own;
  }

 private:
  constexpr int number_of(task_list_view const& list, int tensor) {
    for (int i = 0; i < step.tensor_count; ++i)
      if (outer[i] == tensor) return i;
    outer[step.tensor_count] = tensor;
    step.tensors[step.tensor_count] = list.tensors[tensor].tensor;
    return step.tensor_count++;
  }
};

}  // namespace stagecraft::tiles
