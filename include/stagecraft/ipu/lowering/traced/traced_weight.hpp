// SPDX-License-Identifier: BSD-3-Clause
// The product of a traced layer's task list that multiplies a weight.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <stagecraft/ipu/steps/task_work.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

constexpr bool is_copy(task const& operation) {
  auto const* elementwise = operation.what.if_is<map_task>();
  return elementwise != nullptr && elementwise->function == map_function::copy;
}

/// A weight and its gradient in the task lists of a call.
struct traced_weight {
  static constexpr int is_not_read = -1, is_read_otherwise = -2;

  int index = 0;
  std::int64_t elements = 0;

  /// The number of the task that multiplies the weight first. Conversions of the weight count as the weight.
  template <class Program>
  [[nodiscard]] constexpr int product_in(Program const& program) const {
    growing_array<int> const converted = converted_in(program);
    int result = is_not_read;
    for (std::size_t k = 0; k < program.tasks.size(); ++k) {
      task const& operation = program.tasks[k];
      bool const multiplies = operation.what.is<planned_product>();
      for (int i = 0; i < operation.input_count; ++i) {
        if (is_gradient(program, operation.inputs[i])) return is_read_otherwise;
        if (!is_weight(program, operation.inputs[i], converted)) continue;
        if (is_copy(operation) && !is_given(program, operation.outputs[0])) continue;
        auto const plan = static_cast<std::size_t>(operation.plan);
        if (!multiplies || i != 1 || program.shapes[plan].weights() != elements) return is_read_otherwise;
        if (result < 0) result = static_cast<int>(k);
      }
      for (int i = 0; i < operation.output_count; ++i)
        if (is_given(program, operation.outputs[i]) && (has_role(program, operation.outputs[i], tensor_role::weight) ||
                                                        (is_gradient(program, operation.outputs[i]) && !multiplies)))
          return is_read_otherwise;
    }
    return result;
  }

 private:
  template <class Program>
  static constexpr bool is_given(Program const& program, int tensor) {
    return program.tensors[tensor].given >= 0;
  }
  template <class Program>
  [[nodiscard]] constexpr bool has_role(Program const& program, int tensor, tensor_role role) const {
    auto const& of = program.tensors[tensor].tensor;
    return is_given(program, tensor) && of.role == role && of.index == index;
  }
  template <class Program>
  [[nodiscard]] constexpr bool is_gradient(Program const& program, int tensor) const {
    return has_role(program, tensor, tensor_role::accumulator);
  }
  /// Tensors that are first copied from the weight. They are found once, since constant evaluation takes time for each
  /// task.
  template <class Program>
  [[nodiscard]] constexpr growing_array<int> converted_in(Program const& program) const {
    growing_array<int> result;
    for (std::size_t k = 0; k < program.tasks.size(); ++k) {
      auto const& operation = program.tasks[k];
      if (!is_copy(operation) || !has_role(program, operation.inputs[0], tensor_role::weight)) continue;
      bool is_first = true;
      for (std::size_t j = 0; j < k; ++j)
        is_first = is_first && !(is_copy(program.tasks[j]) && program.tasks[j].outputs[0] == operation.outputs[0]);
      if (is_first) result.push_back(operation.outputs[0]);
    }
    return result;
  }
  template <class Program>
  [[nodiscard]] constexpr bool is_weight(Program const& program, int tensor,
                                         growing_array<int> const& converted) const {
    if (has_role(program, tensor, tensor_role::weight)) return true;
    if (is_given(program, tensor)) return false;
    for (int const each : converted)
      if (each == tensor) return true;
    return false;
  }
};

}  // namespace stagecraft::tiles
