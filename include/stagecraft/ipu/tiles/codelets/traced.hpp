// SPDX-License-Identifier: BSD-3-Clause
// Carries out a traced layer's step on an emulated IPU: its tasks by the codelets of their kinds, and loops of
// them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// `Run` carries out a task of any other kind: `run(machine, task)`.
template <class Run>
class task_list_on_tiles {
 public:
  task_list_on_tiles(tile_machine& machine, task const& task, Run const& run)
      : machine_(machine), list_(*task.list), run_(run), base_(machine.task_offset()) {
    named_tensors const given(machine.step(), task);
    auto const tiles = static_cast<std::size_t>(machine.tiles());
    for (auto const& [tensor, offset, number, written] : list_.tensors) {
      tile_mapping const mapping(tensor, machine.target());
      for (std::size_t tile = 0; tile < tiles; ++tile)
        homes_.push_back(number >= 0 ? machine.home(given.inputs[number], static_cast<int>(tile))
                                     : machine.place(static_cast<int>(tile), base_ + offset,
                                                     mapping.elements_of(static_cast<int>(tile)), tensor.type));
    }
  }

  void run() { run(0, static_cast<int>(list_.tasks.size()), 0, 0); }

 private:
  static constexpr int most_nested = 4;

  /// Tasks [begin, end), with the loops from `next_loop` on, inside of `depth` loops.
  void run(int begin, int end, std::size_t next_loop, int depth) {
    for (int k = begin; k < end; ++k) {
      while (next_loop < list_.loops.size() && list_.loops[next_loop].begin < k) ++next_loop;
      if (next_loop == list_.loops.size() || list_.loops[next_loop].begin != k) {
        run_one(k);
        continue;
      }
      tile_loop const& loop = list_.loops[next_loop];
      for (trips_[depth] = 0; trips_[depth] < loop.trips; ++trips_[depth])
        run(loop.begin, loop.end, next_loop + 1, depth + 1);
      k = loop.end - 1;
    }
  }
  void run_one(int k) {
    auto task = list_.tasks[k];
    if (auto const* moving = task.what.if_is<rearrangement>(); moving != nullptr && moving->step != 0)
      task.what = moving->moved(trips_[moving->loop]);
    auto const& own = one_.set(list_, task);
    auto const tiles = static_cast<std::size_t>(machine_.tiles());
    own_homes_.clear();
    for (int i = 0; i < one_.step.tensor_count; ++i) {
      auto const* const first = homes_.data() + static_cast<std::size_t>(one_.outer[i]) * tiles;
      own_homes_.insert(own_homes_.end(), first, first + tiles);
    }
    machine_.begin_task(base_ + list_.copies[k]);
    machine_.with_step(one_.step, own_homes_, [&] { run_(machine_, own); });
  }

  tile_machine& machine_;
  task_list_view const& list_;
  Run const& run_;
  std::int64_t base_;
  std::vector<tile_view> homes_, own_homes_;  ///< all tiles of a tensor together, tensor by tensor
  step_of_task one_;
  std::int64_t trips_[most_nested]{};
};

template <class Run>
void run_traced(tile_machine& machine, task const& task, Run const& run) {
  task_list_on_tiles(machine, task, run).run();
}

}  // namespace stagecraft::tiles
