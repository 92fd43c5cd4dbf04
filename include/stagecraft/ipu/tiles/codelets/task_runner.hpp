// SPDX-License-Identifier: BSD-3-Clause
// Walks the schedule of a task on the tiles of an emulated IPU: ipu/tasks/task_counter.hpp counts by the same.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// Has what task_counter has, whose comments say what each member does.
class task_runner {
 public:
  using memory = std::vector<tile_view>;

  task_runner(tile_machine& machine, task const& task) : machine_(machine), task_(task) {}

  [[nodiscard]] lowered_step const& step() const { return machine_.step(); }
  [[nodiscard]] task const& current() const { return task_; }
  [[nodiscard]] ipu_target const& target() const { return machine_.target(); }

  memory allocate(int tiles, std::int64_t elements, dtype type) {
    return machine_.allocate_on(tiles, type, [&](int) { return elements; });
  }
  memory allocate(equal_shares const& shares, dtype type) {
    return machine_.allocate_on(shares.tiles_used(), type, [&](int tile) { return shares.of(tile); });
  }
  memory home(int tiles, int tensor) {
    memory pieces;
    for (int tile = 0; tile < tiles; ++tile) pieces.push_back(machine_.home(tensor, tile));
    return pieces;
  }
  template <class Runs>
  memory receive(equal_shares const& shares, int input, std::int64_t width, Runs const& runs) {
    memory copies = machine_.allocate_on(shares.tiles_used(), step().input_of(task_, input).type,
                                         [&](int tile) { return shares.of(tile) * width; });
    for (auto const& copy : copies)
      runs(copy.tile(), width, [&](std::int64_t at, std::int64_t first, std::int64_t count) {
        machine_.receive(copy, at, task_.inputs[input], first, count);
      });
    return copies;
  }
  template <class Runs>
  void send(memory const& copies, int output, std::int64_t width, Runs const& runs) {
    for (auto const& copy : copies)
      runs(copy.tile(), width, [&](std::int64_t at, std::int64_t first, std::int64_t count) {
        machine_.send(copy, at, task_.outputs[output], first, count);
      });
  }
  memory gather(memory const& numbers, int tiles) {
    memory all = allocate(1, tiles, dtype::float32);
    for (int tile = 0; tile < tiles; ++tile) machine_.receive(all[0], tile, numbers[tile], 0, 1);
    return all;
  }
  void end_exchange() { machine_.end_exchange(); }
  template <class Work, class Run>
  void compute_set(char const* name, equal_shares const& shares, Work const& work, Run const& run) {
    machine_.compute_set(
        name, shares.tiles_used(), [&](int tile) { return work(shares.of(tile)); },
        [&](int tile) { run(machine_, tile); });
  }

 private:
  tile_machine& machine_;
  task const& task_;
};

/// Tile 0 adds up the numbers of all tiles, to the task's first result, or to its square root.
inline void add_numbers(tile_machine& machine, task const& task, task_runner::memory const& all, bool is_root) {
  double sum = 0;
  for (std::int64_t i = 0; i < all[0].size(); ++i) sum += all[0][i];
  machine.home(task.outputs[0], 0).set(0, static_cast<float>(is_root ? std::sqrt(sum) : sum));
}

}  // namespace stagecraft::tiles
