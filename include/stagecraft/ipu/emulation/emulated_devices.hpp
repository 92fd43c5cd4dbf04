// SPDX-License-Identifier: BSD-3-Clause
// What one replica of a model needs besides its memory where its devices are emulated IPUs: the cycles that were
// counted, pass by pass, and the tiles of checked IPUs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/step_plan.hpp>
#include <stagecraft/ipu/emulation/emulated_device.hpp>
#include <stagecraft/ipu/emulation/ipu_arithmetic.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stagecraft::tiles {

/// Cost of all runs of one replica's pass, or of a device's weight updates.
struct counted_pass {
  operation_cost cost;
  std::int64_t runs = 0;

  friend constexpr bool operator==(counted_pass const&, counted_pass const&) = default;
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// Work that was counted for one replica since it was made.
struct counted_work {
  std::vector<tiles::counted_pass> training;   ///< one for each pass of the training timetable
  std::vector<tiles::counted_pass> inference;  ///< one for each stage
  std::vector<tiles::counted_pass> updates;    ///< one for each device
};

}  // namespace stagecraft

namespace stagecraft::tiles {

/// The IPUs of a replica.
template <class Sizes>
struct emulated_devices {
  using machine = typename Sizes::machine;

  counted_work counted{.training = std::vector<counted_pass>(Sizes::passes),
                       .inference = std::vector<counted_pass>(Sizes::stages),
                       .updates = std::vector<counted_pass>(Sizes::devices)};
  std::vector<std::unique_ptr<tile_machine>> devices;  ///< tiles of checked IPUs
  std::vector<aligned_block> held_gradients;           ///< one for each device
  std::vector<emulated_device> of_steps = std::vector<emulated_device>(Sizes::devices);

  emulated_devices() {
    using plan = engine::step_plan<typename Sizes::job::template in<Sizes::main_mode>, 0>;
    for (int device = 0; device < Sizes::devices; ++device)
      held_gradients.emplace_back(ipu_arithmetic<plan>::held_floats());
    if constexpr (machine::checked)
      for (int device = 0; device < Sizes::devices; ++device)
        devices.push_back(std::make_unique<tile_machine>(machine::target, machine::target.bytes_per_tile));
  }

  /// Counts the following work of a device in `what`. `is_run`: the work is a run of its own, not a part of the last
  /// one.
  void begin(counted_pass& what, int device, pass_memory& memory, bool is_run) {
    if (is_run) ++what.runs;
    auto& found = of_steps[device];
    found.counted = &what.cost;
    if constexpr (machine::checked) found.tiles = devices[device].get();
    found.held_gradients = held_gradients[device].data();
    memory.machine = &found;
  }
};

}  // namespace stagecraft::tiles
