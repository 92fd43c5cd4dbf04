// SPDX-License-Identifier: BSD-3-Clause
// The steps of a layer that is written as a `call`: operations of the other families, one after the other, and loops
// of them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/named_tensors.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/tile_program.hpp>

namespace stagecraft::tiles {

/// `tensors`: as inputs all that the program is given, in its order, as outputs those that it writes.
constexpr void append_program(lowered_step& step, tile_program_view const& program, named_tensors const& tensors) {
  append_with_tensors(step, traced_program{}, tensors).program = &program;
}

/// Found once, with the program.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const&, tile_operation const& operation,
                                               traced_program const&, ipu_target const&) {
  return operation.program->cost;
}

}  // namespace stagecraft::tiles
