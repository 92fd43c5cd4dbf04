// SPDX-License-Identifier: BSD-3-Clause
// What a weight becomes after its update on an emulated IPU. Level 5.
#pragma once

#include <stagecraft/execution/emulation.hpp>
#include <stagecraft/execution/tiles/tile_step.hpp>
#include <stagecraft/execution/weight_layout.hpp>
#include <stagecraft/program/tile_places.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft {

/// What it costs is added to `memory.counted`. Checked IPUs carry it out tile by tile, unless replicas share weights or
/// state: what a replica has is in the host's layout then.
template <class Plan, std::size_t Parameter>
class ipu_constraint {
  using model = typename Plan::model;
  using machine = typename Plan::machine;
  using layout = weight_layout<model, typename Plan::architecture>;
  static constexpr lowered_step const& step = lowered_constraint_of<model, Plan::training, Parameter>;
  static constexpr long long offset = Plan::weights.offset[Parameter];

 public:
  template <class OnHost>
  static void run(host_memory const& memory, [[maybe_unused]] bool is_shared, OnHost const& on_host) {
    if constexpr (runs_on_tiles<Plan>) {
      if (!is_shared) {
        using places = tile_places<model, Plan::training, Plan::mode, machine>;
        auto const offsets =
            offsets_of(step, [](tile_tensor const& tensor) { return places::template of_update<Parameter>(tensor); });
        *memory.counted += run_step(
            *memory.tiles, step, offsets.data(), places::template end_of_update<Parameter>(),
            {.update = static_cast<std::int64_t>(memory.update)},
            [&](tile_tensor const& tensor, float* to) {
              if (tensor.role != tensor_role::weight) return false;
              layout::template unpack<Parameter>(memory.weights + offset, to);
              return true;
            },
            [&](tile_tensor const& tensor, float const* from) {
              if (tensor.role == tensor_role::weight) layout::template pack<Parameter>(from, memory.weights + offset);
            },
            [](tile_operation const&) {});
        return;
      }
    }
    on_host();
    *memory.counted += constraint_cost_of<model, Plan::training, machine, Parameter>.cost;
  }
};

}  // namespace stagecraft
