// SPDX-License-Identifier: BSD-3-Clause
// What one replica of a model needs besides its memory where its devices are emulated IPUs: counters, and the tiles of
// checked ones. Level 5.
#pragma once

#include <stagecraft/execution/emulation.hpp>
#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/execution/ipu_arithmetic.hpp>
#include <stagecraft/execution/pipeline_plan.hpp>
#include <stagecraft/execution/tiles/counted_work.hpp>
#include <stagecraft/execution/tiles/tile_machine.hpp>
#include <memory>
#include <vector>

namespace stagecraft {

/// Of devices that are IPUs.
template <class Sizes>
struct emulation<Sizes, true> {
  using machine = typename Sizes::machine;

  counted_work counted{.training = std::vector<counted_pass>(Sizes::passes),
                       .inference = std::vector<counted_pass>(Sizes::stages),
                       .updates = std::vector<counted_pass>(Sizes::devices)};
  std::vector<std::unique_ptr<tile_machine>> devices;  ///< of checked IPUs
  std::vector<aligned_block> held_gradients;           ///< of each device

  emulation() {
    using plan = pipeline_plan<typename Sizes::model, Sizes::training, Sizes::main_mode, machine, 0>;
    for (int device = 0; device < Sizes::devices; ++device)
      held_gradients.emplace_back(ipu_arithmetic<plan>::held_floats());
    if constexpr (machine::checked)
      for (int device = 0; device < Sizes::devices; ++device)
        devices.push_back(std::make_unique<tile_machine>(machine::target, machine::target.bytes_per_tile));
  }
};

}  // namespace stagecraft
