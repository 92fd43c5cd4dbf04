// SPDX-License-Identifier: BSD-3-Clause
// What any task costs on the tiles of an IPU, and what a lowered step costs. `cost_of` counts what `run` does
// (ipu/tiles/codelets/), and tests compare the two. One schedule for both, a template walked by a counter or by tiles,
// was tried: 300 costs of rows took GCC 8.2 % more operations of constant evaluation (Clang 0.9 % more steps), and 300
// costs of updates took Clang 24 % more steps.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/ipu/tasks/table.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Naming tensors costs nothing.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const&, task const&, tensor_names const&,
                                               ipu_target const&) {
  return {};
}
/// Cycles, bytes and floating point operations of one task of a step.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, ipu_target const& target) {
  return task.what.visit([&](auto const& what) { return cost_of(step, task, what, target); });
}

/// The cost of a lowered step on one IPU.
struct step_cost {
  operation_cost cost;               ///< the sum over all tasks
  std::int64_t temporary_bytes = 0;  ///< peak of a tile's temporary tensors and the tasks' copies
  std::int64_t vertices = 0;         ///< vertices on a tile: one for each compute set

  constexpr step_cost() = default;
  constexpr step_cost(lowered_step const& step, ipu_target const& target) : step_cost(step, target, {step, target}) {}

 private:
  constexpr step_cost(lowered_step const& step, ipu_target const& target, step_layout const& layout) {
    temporary_bytes = layout.tensor_bytes;
    for (int i = 0; i < step.task_count; ++i) {
      auto const one = cost_of(step, step.tasks[i], target);
      temporary_bytes = larger(temporary_bytes, layout.copies[i] + one.temporary_bytes);
      cost += one;
      vertices += one.compute_sets;
      if (auto const* list = step.tasks[i].list; list != nullptr) vertices -= list->repeated_compute_sets;
    }
  }
};

}  // namespace stagecraft::tiles
