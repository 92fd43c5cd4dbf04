// SPDX-License-Identifier: BSD-3-Clause
// Where the temporary tensors of a lowered step, and the copies that its tasks make, lie in the memory of every
// tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Whole loads of the data path, which pieces of tensors and copies take.
[[nodiscard]] constexpr std::int64_t rounded_bytes(std::int64_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

/// Bytes that a tensor takes on the tile with most of it, tile 0.
[[nodiscard]] constexpr std::int64_t bytes_on_tile(tile_tensor const& tensor, ipu_target const& target) noexcept {
  return rounded_bytes(tile_mapping(tensor, target).elements_per_tile * size_of(tensor.type));
}

/// Offsets are bytes after the beginning of the step's own memory, the same on all tiles. A temporary tensor
/// takes its place from the first task that names it to the last; first fit.
struct step_layout {
  std::int64_t offset[lowered_step::most_tensors]{};  ///< -1: not a temporary
  std::int64_t copies[lowered_step::most_tasks]{};    ///< where the copies of a task begin
  std::int64_t tensor_bytes = 0;                      ///< the end of the temporary tensors

  constexpr step_layout(lowered_step const& step, ipu_target const& target) {
    int first[lowered_step::most_tensors]{}, last[lowered_step::most_tensors]{};
    for (int i = 0; i < step.tensor_count; ++i) {
      offset[i] = -1;
      first[i] = lowered_step::most_tasks;
      last[i] = -1;
    }
    auto const use = [&](int tensor, int task) {
      if (task < first[tensor]) first[tensor] = task;
      if (task > last[tensor]) last[tensor] = task;
    };
    for (int k = 0; k < step.task_count; ++k) {
      auto const& task = step.tasks[k];
      for (int i = 0; i < task.input_count; ++i) use(task.inputs[i], k);
      for (int i = 0; i < task.output_count; ++i) use(task.outputs[i], k);
    }
    std::int64_t size[lowered_step::most_tensors]{};
    for (int k = 0; k < step.task_count; ++k)
      for (int i = 0; i < step.tensor_count; ++i) {
        if (step.tensors[i].role != tensor_role::temporary || first[i] != k) continue;
        size[i] = bytes_on_tile(step.tensors[i], target);
        offset[i] = free_place(offset, size, last, step.tensor_count, k, size[i]);
        tensor_bytes = larger(tensor_bytes, offset[i] + size[i]);
      }
    for (int k = 0; k < step.task_count; ++k)
      for (int i = 0; i < step.tensor_count; ++i)
        if (offset[i] >= 0 && first[i] <= k && last[i] >= k) copies[k] = larger(copies[k], offset[i] + size[i]);
  }

 private:
  /// The lowest place beside the tensors that have one and are still alive.
  static constexpr std::int64_t free_place(std::int64_t const* offsets, std::int64_t const* sizes, int const* lasts,
                                           int count, int task, std::int64_t size) {
    std::int64_t place = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (int i = 0; i < count; ++i)
        if (offsets[i] >= 0 && lasts[i] >= task && offsets[i] < place + size && place < offsets[i] + sizes[i]) {
          place = offsets[i] + sizes[i];
          moved = true;
        }
    }
    return place;
  }
};

}  // namespace stagecraft::tiles
