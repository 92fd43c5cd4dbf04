// SPDX-License-Identifier: BSD-3-Clause
// What the steps of an emulated IPU find at run time besides pass_memory.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>

namespace stagecraft::tiles {

class tile_machine;

/// Lasts as long as the replica; `counted` as long as the pass or the weight update.
struct emulated_device : engine::machine_memory {
  operation_cost* counted = nullptr;  ///< cost of the pass or the weight update so far
  tile_machine* tiles = nullptr;      ///< null unless steps run tile by tile
  float* held_gradients = nullptr;    ///< room where gradients are rounded before they are added
};

/// The device that a step, or a weight update, runs on.
inline emulated_device const& emulated_device_of(pass_memory const& memory) {
  return static_cast<emulated_device const&>(*memory.machine);
}

}  // namespace stagecraft::tiles
