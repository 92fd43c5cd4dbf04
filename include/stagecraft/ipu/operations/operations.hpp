// SPDX-License-Identifier: BSD-3-Clause
// What any operation costs on the tiles of an IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/convolution.hpp>
#include <stagecraft/ipu/operations/custom.hpp>
#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/pool.hpp>
#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/ipu/operations/rows.hpp>
#include <stagecraft/ipu/operations/table.hpp>
#include <stagecraft/ipu/operations/traced.hpp>
#include <stagecraft/ipu/operations/update.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>

namespace stagecraft::tiles {

/// Nothing.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const&, tile_operation const&, tensor_names const&,
                                               ipu_target const&) {
  return {};
}
/// Cycles, bytes and floating point operations of one operation of a step.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, tile_operation const& operation,
                                               ipu_target const& target) {
  return operation.what.visit([&](auto const& what) { return cost_of(step, operation, what, target); });
}

}  // namespace stagecraft::tiles
