// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is written as a `call`: operations of the other families, one after the other, and loops
// of them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/named_tensors.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/tile_program.hpp>

namespace stagecraft::tiles {

/// The operation `program`, or one before it that only names tensors.
enum class traced_function : int { program, more_tensors = detail::named_tensors::only_names };

/// `tensors`: as inputs all that the program is given, in its order, as outputs those that it writes.
constexpr void append_program(lowered_step& step, tile_program_view const& program,
                              detail::named_tensors const& tensors) {
  detail::append_with_tensors(step, operation_kind::traced, static_cast<int>(traced_function::program), tensors)
      .program = &program;
}

/// Found once, with the program.
[[nodiscard]] constexpr operation_cost cost_of_traced(tile_operation const& operation) {
  return operation.program == nullptr ? operation_cost{} : operation.program->cost;
}

}  // namespace stagecraft::tiles
