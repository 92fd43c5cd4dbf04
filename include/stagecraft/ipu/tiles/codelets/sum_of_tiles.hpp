// SPDX-License-Identifier: BSD-3-Clause
// Adds up one number of each tile: losses, penalties and norms.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cmath>
#include <vector>

namespace stagecraft::tiles {

/// Tile 0 receives the numbers of all tiles, in the exchange that has begun, and adds them up: to the task's first
/// result, or to its square root.
inline void add_up_tiles(tile_machine& machine, task const& task, std::vector<tile_view> const& sums,
                         vertex_work const& work, bool is_root = false) {
  if (sums.empty()) return machine.end_exchange();
  int const tiles = static_cast<int>(sums.size());
  auto const all = machine.allocate(0, tiles, dtype::float32);
  for (int tile = 0; tile < tiles; ++tile) machine.receive(all, tile, sums[tile], 0, 1);
  machine.end_exchange();
  machine.compute_set(
      "ReduceAdd", 1, [&](int) { return work; },
      [&](int) {
        double sum = 0;
        for (int tile = 0; tile < tiles; ++tile) sum += static_cast<double>(all[tile]);
        machine.home(task.outputs[0], 0).set(0, static_cast<float>(is_root ? std::sqrt(sum) : sum));
      });
}

}  // namespace stagecraft::tiles
