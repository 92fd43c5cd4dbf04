// SPDX-License-Identifier: BSD-3-Clause
// What emulated IPUs have done: cycles as they were counted, pass by pass.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// Of one replica's pass or of a device's weight updates: all its runs together.
struct counted_pass {
  operation_cost cost;
  std::int64_t runs = 0;

  friend constexpr bool operator==(counted_pass const&, counted_pass const&) = default;
};

class tile_machine;

/// What the steps of a device find besides pass_memory.
struct emulated_device : engine::machine_memory {
  operation_cost* counted = nullptr;  ///< what the pass or the weight update has cost so far
  tile_machine* tiles = nullptr;      ///< if steps run tile by tile
  float* held_gradients = nullptr;    ///< room where gradients are rounded before they are added
};
/// The device that a pass, or a weight update, runs on.
inline emulated_device const& emulated_device_of(pass_memory const& memory) {
  return static_cast<emulated_device const&>(*memory.machine);
}

}  // namespace stagecraft::tiles

namespace stagecraft {

/// Of one replica since it was made.
struct counted_work {
  std::vector<tiles::counted_pass> training;   ///< by passes of the training timetable
  std::vector<tiles::counted_pass> inference;  ///< by stages
  std::vector<tiles::counted_pass> updates;    ///< by devices
};

}  // namespace stagecraft
