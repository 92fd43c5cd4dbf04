// SPDX-License-Identifier: BSD-3-Clause
// Carries out any task of a lowered step on an emulated IPU.
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
#include <type_traits>

namespace stagecraft::tiles {

/// Runs a task of any kind but own_layer_step, which needs the call of its layer.
inline void run_task(tile_machine& machine, task const& task) {
  task.what.visit([&](auto const& what) {
    using family = std::remove_cvref_t<decltype(what)>;
    if constexpr (std::is_same_v<family, traced_tasks>)
      run_traced(machine, task, run_task);
    else if constexpr (!std::is_same_v<family, own_layer_step> && !std::is_same_v<family, tensor_names>)
      run(machine, task, what);
  });
}

}  // namespace stagecraft::tiles
