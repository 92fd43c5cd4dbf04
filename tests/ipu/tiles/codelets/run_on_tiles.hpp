// SPDX-License-Identifier: BSD-3-Clause
// Carries out a lowered step on the tiles of a small emulated IPU, with tensors as arrays.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tests {

/// An IPU like GC200 with few tiles.
inline stagecraft::ipu_target target_of(int tiles) {
  auto target = stagecraft::ipu_targets::ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

/// What came out, and what it took.
struct run_result {
  std::vector<std::vector<float>> tensors;  ///< all of the step, as they are afterwards
  stagecraft::tiles::operation_cost counted;
  std::int64_t high_water_mark = 0;  ///< of tile 0 and every other
  std::int64_t tensor_bytes = 0;     ///< of the step's tensors on tile 0
};

/// Runs operations by `run(machine, operation)`; `values` has the tensors before, in the step's order, of which
/// temporary ones may be empty. Every tensor but the temporary ones keeps its place throughout.
template <class Run>
run_result run_on_tiles(stagecraft::tiles::lowered_step const& step, stagecraft::ipu_target const& target,
                        std::vector<std::vector<float>> const& values, Run const& run,
                        stagecraft::tiles::step_values const& at_run_time = {}, std::int64_t least_room = 0) {
  run_result result;
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < step.tensor_count; ++i) {
    offsets.push_back(result.tensor_bytes);
    if (step.tensors[i].role != stagecraft::tiles::tensor_role::temporary)
      result.tensor_bytes += stagecraft::tiles::bytes_on_tile(step.tensors[i], target);
  }
  stagecraft::tiles::step_layout const layout(step, target);
  // Room for copies: 4 MB on one tile, 16 KB on each of many, or as much as is asked for.
  auto const copies = stagecraft::detail::larger(
      least_room, stagecraft::detail::larger((std::int64_t{1} << 22) / target.tiles_per_ipu, std::int64_t{1} << 14));
  stagecraft::tiles::tile_machine machine(target, result.tensor_bytes + layout.tensor_bytes + copies);
  machine.begin_step(step, layout, offsets.data(), result.tensor_bytes, at_run_time);
  for (int i = 0; i < step.tensor_count; ++i)
    if (static_cast<std::size_t>(i) < values.size() && !values[static_cast<std::size_t>(i)].empty())
      machine.load(i, values[static_cast<std::size_t>(i)].data());
  for (int i = 0; i < step.task_count; ++i) {
    machine.begin_task(result.tensor_bytes + layout.copies[i]);
    run(machine, step.tasks[i]);
  }
  for (int i = 0; i < step.tensor_count; ++i) {
    result.tensors.emplace_back(static_cast<std::size_t>(step.tensors[i].elements));
    machine.store(i, result.tensors.back().data());
  }
  result.counted = machine.counted();
  result.high_water_mark = machine.high_water_mark();
  return result;
}

}  // namespace tests
