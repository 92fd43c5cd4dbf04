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

/// Cycles, bytes and floating point operations of one operation of a step.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, tile_operation const& operation,
                                               ipu_target const& target) {
  switch (operation.kind) {
    case operation_kind::map: return cost_of_map(step, operation, target);
    case operation_kind::reduce: return cost_of_reduce(step, operation, target);
    case operation_kind::rows: return cost_of_rows(step, operation, target);
    case operation_kind::rearrange: return cost_of_rearrange(step, operation, target);
    case operation_kind::pool: return cost_of_pool(step, operation, target);
    case operation_kind::convolution: return cost_of_convolution(step, operation, target);
    case operation_kind::update: return cost_of_update(step, operation, target);
    case operation_kind::table: return cost_of_table(step, operation, target);
    case operation_kind::traced: return cost_of_traced(operation);
    default: return cost_of_custom(step, operation, target);
  }
}

}  // namespace stagecraft::tiles
