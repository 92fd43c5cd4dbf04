// SPDX-License-Identifier: BSD-3-Clause
// Functions of a weight on an emulated IPU: its constraint, or what a penalty of the user's own adds to its gradient.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/weight_layout.hpp>
#include <stagecraft/ipu/emulation/runs_on_tiles.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// What it costs is added to `memory.counted`. Checked IPUs carry it out tile by tile, unless replicas share weights or
/// state, or gradients are accumulated in halves: then they have another layout, or another type.
template <class Plan, std::size_t Parameter, bool IsConstraint>
class ipu_weight_step {
  using model = typename Plan::model;
  using machine = typename Plan::machine;
  using layout = weight_layout<model, typename Plan::architecture>;
  static constexpr lowered_step const& step = []() -> lowered_step const& {
    if constexpr (IsConstraint)
      return lowered_constraint_of<typename Plan::job::described, Parameter>;
    else
      return lowered_penalty_of<typename Plan::job, Parameter>;
  }();
  static constexpr step_cost const& cost = []() -> step_cost const& {
    if constexpr (IsConstraint)
      return constraint_cost_of<typename Plan::job, Parameter>;
    else
      return penalty_cost_of<typename Plan::job, Parameter>;
  }();
  /// The factor of a loss that changes is known to the host.
  static constexpr bool scales_penalty =
      !IsConstraint && detail::loss_scale_rule_of(Plan::training.optimizer).growth_steps > 0;
  static constexpr long long offset = Plan::weights.offset[Parameter];

 public:
  template <class OnHost>
  static void run(host_memory const& memory, [[maybe_unused]] bool is_shared, OnHost const& on_host) {
    if constexpr (runs_on_tiles<Plan> && !Plan::accumulates_halves && !scales_penalty) {
      if (!is_shared) {
        using places = tile_places<typename Plan::job>;
        auto const offsets =
            offsets_of(step, [](tile_tensor const& tensor) { return places::template of_update<Parameter>(tensor); });
        *memory.counted += run_step(
            *memory.tiles, step, offsets.data(), places::template end_of_update<Parameter>(),
            {.update = static_cast<std::int64_t>(memory.update)},
            [&](tile_tensor const& tensor, float* to) {
              float* const from = stored(memory, tensor);
              if (from != nullptr) layout::template unpack<Parameter>(from, to);
              return from != nullptr;
            },
            [&](tile_tensor const& tensor, float const* from) {
              if (tensor.role == (IsConstraint ? tensor_role::weight : tensor_role::accumulator))
                layout::template pack<Parameter>(from, stored(memory, tensor));
            },
            [](tile_operation const&) {});
        return;
      }
    }
    on_host();
    *memory.counted += cost.cost;
  }

 private:
  /// Null of a tensor of the step alone.
  static float* stored(host_memory const& memory, tile_tensor const& tensor) {
    if (tensor.role == tensor_role::weight) return memory.weights + offset;
    return tensor.role == tensor_role::accumulator ? memory.gradients + offset : nullptr;
  }
};

}  // namespace stagecraft::tiles
