// SPDX-License-Identifier: BSD-3-Clause
// A layer's step on an emulated IPU: by the host's kernels on the pieces of all tiles at once, which stand one behind
// the other in the device's block, or tile by tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <stagecraft/ipu/profile/pass_profile.hpp>

namespace stagecraft::tiles {

/// What it costs is added to `emulated_device::counted`.
template <class Plan, int Call, bool Backward>
struct ipu_step {
  using steps = tile_step<Plan, Call, Backward>;

  template <class HostStep>
  static void run(pass_memory const& memory, HostStep const& host_step) {
    if constexpr (is_on_host(Plan::graph, Call)) {
      host_step(memory);
    } else if constexpr (Plan::machine::checked) {
      using places = tile_places<typename Plan::job>;
      auto const offsets = offsets_of(steps::step, [&](tile_tensor const& tensor) {
        return places::template of_step<Plan::pass_number>(number, tensor, memory.micro_batch);
      });
      *emulated_device_of(memory).counted += steps::run(memory, *emulated_device_of(memory).tiles, offsets.data(),
                                                        places::template end_of_step<Plan::pass_number>(number));
    } else {
      host_step(memory);
      *emulated_device_of(memory).counted += steps::cost;
    }
  }

 private:
  /// Of the step in its pass.
  static constexpr int number = [] {
    int result = 0;
    for (auto const& step : Plan::pass.steps) {
      if (step.call == Call && step.backward == Backward) break;
      ++result;
    }
    return result;
  }();
};

/// A map on the gradient's tiles.
template <class Plan>
void count_addition(pass_memory const& memory, pass_addition const& added) {
  auto const type = value_types_of<typename Plan::job>[added.call];
  *emulated_device_of(memory).counted += cost_of_addition(added.floats, type, Plan::machine::target);
}

}  // namespace stagecraft::tiles
