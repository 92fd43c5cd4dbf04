// SPDX-License-Identifier: BSD-3-Clause
// Carries out any operation of a lowered step on an emulated IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution.hpp>
#include <stagecraft/ipu/tiles/codelets/custom.hpp>
#include <stagecraft/ipu/tiles/codelets/map.hpp>
#include <stagecraft/ipu/tiles/codelets/pool.hpp>
#include <stagecraft/ipu/tiles/codelets/rearrange.hpp>
#include <stagecraft/ipu/tiles/codelets/reduce.hpp>
#include <stagecraft/ipu/tiles/codelets/rows.hpp>
#include <stagecraft/ipu/tiles/codelets/table.hpp>
#include <stagecraft/ipu/tiles/codelets/traced.hpp>
#include <stagecraft/ipu/tiles/codelets/update.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>

namespace stagecraft::tiles {

/// All families but `custom`, which needs the call of its layer.
inline void run_operation(tile_machine& machine, tile_operation const& operation) {
  switch (operation.kind) {
    case operation_kind::map: return run_map(machine, operation);
    case operation_kind::reduce: return run_reduce(machine, operation);
    case operation_kind::rows: return run_rows(machine, operation);
    case operation_kind::rearrange: return run_rearrange(machine, operation);
    case operation_kind::pool: return run_pool(machine, operation);
    case operation_kind::convolution: return run_convolution(machine, operation);
    case operation_kind::update: return run_update(machine, operation);
    case operation_kind::table: return run_table(machine, operation);
    case operation_kind::traced: return run_traced(machine, operation, run_operation);
    default: return;
  }
}

}  // namespace stagecraft::tiles
