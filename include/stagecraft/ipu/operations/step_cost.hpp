// SPDX-License-Identifier: BSD-3-Clause
// What a lowered step costs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/operations.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// What a lowered step costs on one IPU.
struct step_cost {
  operation_cost cost;               ///< of all operations
  std::int64_t temporary_bytes = 0;  ///< of a tile: temporary tensors and the operations' copies, at the fullest moment
  std::int64_t vertices = 0;         ///< of a tile: one for each compute set

  constexpr step_cost() = default;
  constexpr step_cost(lowered_step const& step, ipu_target const& target) : step_cost(step, target, {step, target}) {}

 private:
  constexpr step_cost(lowered_step const& step, ipu_target const& target, step_layout const& layout) {
    temporary_bytes = layout.tensor_bytes;
    for (int i = 0; i < step.operation_count; ++i) {
      auto const one = cost_of(step, step.operations[i], target);
      temporary_bytes = larger(temporary_bytes, layout.copies[i] + one.temporary_bytes);
      cost += one;
      vertices += one.compute_sets;
      if (auto const* program = step.operations[i].program; program != nullptr)
        vertices -= program->repeated_compute_sets;
    }
  }
};

}  // namespace stagecraft::tiles
