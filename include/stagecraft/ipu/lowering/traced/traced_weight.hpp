// SPDX-License-Identifier: BSD-3-Clause
// The product of a traced layer's task list that multiplies a weight.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/steps/task_work.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

constexpr bool is_copy(task const& task) {
  auto const* elementwise = task.what.if_is<map_task>();
  return elementwise != nullptr && elementwise->function == map_function::copy;
}

/// A weight and its gradient in the task lists of a call.
struct traced_weight {
  static constexpr int is_not_read = -1, is_read_otherwise = -2;

  int index = 0;
  std::int64_t elements = 0;

  /// The number of the task that multiplies the weight first. Conversions of the weight count as the weight.
  template <class TaskList>
  [[nodiscard]] constexpr int product_in(TaskList const& list) const {
    growing_array<int> const converted = converted_in(list);
    int result = is_not_read;
    for (std::size_t k = 0; k < list.tasks.size(); ++k) {
      task const& task = list.tasks[k];
      bool const multiplies = task.what.is<planned_product>();
      for (int i = 0; i < task.input_count; ++i) {
        if (is_gradient(list, task.inputs[i])) return is_read_otherwise;
        if (!is_weight(list, task.inputs[i], converted)) continue;
        if (is_copy(task) && !is_given(list, task.outputs[0])) continue;
        auto const plan = static_cast<std::size_t>(task.plan);
        if (!multiplies || i != 1 || list.shapes[plan].weights() != elements) return is_read_otherwise;
        if (result < 0) result = static_cast<int>(k);
      }
      for (int i = 0; i < task.output_count; ++i)
        if (is_given(list, task.outputs[i]) && (has_role(list, task.outputs[i], tensor_role::weight) ||
                                                (is_gradient(list, task.outputs[i]) && !multiplies)))
          return is_read_otherwise;
    }
    return result;
  }

 private:
  template <class TaskList>
  static constexpr bool is_given(TaskList const& list, int tensor) {
    return list.tensors[tensor].given >= 0;
  }
  template <class TaskList>
  [[nodiscard]] constexpr bool has_role(TaskList const& list, int tensor, tensor_role role) const {
    auto const& of = list.tensors[tensor].tensor;
    return is_given(list, tensor) && of.role == role && of.index == index;
  }
  template <class TaskList>
  [[nodiscard]] constexpr bool is_gradient(TaskList const& list, int tensor) const {
    return has_role(list, tensor, tensor_role::accumulator);
  }
  /// Tensors that are first copied from the weight. They are found once, since constant evaluation takes time for each
  /// task.
  template <class TaskList>
  [[nodiscard]] constexpr growing_array<int> converted_in(TaskList const& list) const {
    growing_array<int> result;
    for (std::size_t k = 0; k < list.tasks.size(); ++k) {
      auto const& task = list.tasks[k];
      if (!is_copy(task) || !has_role(list, task.inputs[0], tensor_role::weight)) continue;
      bool is_first = true;
      for (std::size_t j = 0; j < k; ++j)
        is_first = is_first && !(is_copy(list.tasks[j]) && list.tasks[j].outputs[0] == task.outputs[0]);
      if (is_first) result.push_back(task.outputs[0]);
    }
    return result;
  }
  template <class TaskList>
  [[nodiscard]] constexpr bool is_weight(TaskList const& list, int tensor, growing_array<int> const& converted) const {
    if (has_role(list, tensor, tensor_role::weight)) return true;
    if (is_given(list, tensor)) return false;
    for (int const each : converted)
      if (each == tensor) return true;
    return false;
  }
};

}  // namespace stagecraft::tiles
