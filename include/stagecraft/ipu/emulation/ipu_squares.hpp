// SPDX-License-Identifier: BSD-3-Clause
// What a weight contributes to norms over all weights, on an emulated IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/ipu/emulation/runs_on_tiles.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// What it costs is added to `memory.counted`. As in the update, checked IPUs carry it out tile by tile unless
/// gradients are accumulated in halves or replicas share the work, and find the gradient in the place of the first
/// call's.
template <class Plan, std::size_t Parameter>
class ipu_squares {
  using model = typename Plan::model;
  using machine = typename Plan::machine;
  using layout = weight_layout<model, typename Plan::architecture>;
  static constexpr lowered_step const& step = lowered_squares_of<typename Plan::job, Parameter>;
  static constexpr long long offset = Plan::weights.offset[Parameter];

 public:
  template <class OnHost>
  static void run(host_memory const& memory, [[maybe_unused]] detail::optimizer_state const& state, bool is_shared,
                  [[maybe_unused]] double* sums, OnHost const& on_host) {
    constexpr bool on_tiles = runs_on_tiles<Plan> && !Plan::accumulates_halves;
    if (!on_tiles || is_shared) {
      on_host();
      *memory.counted += squares_cost_of<typename Plan::job, Parameter>.cost;
    } else if constexpr (on_tiles) {
      using places = tile_places<typename Plan::job>;
      auto const offsets =
          offsets_of(step, [](tile_tensor const& tensor) { return places::template of_update<Parameter>(tensor); });
      *memory.counted += run_step(
          *memory.tiles, step, offsets.data(), places::template end_of_update<Parameter>(),
          {.update = static_cast<std::int64_t>(memory.update),
           .learning_rate = memory.learning_rate,
           .loss_scale = memory.loss_scale},
          [&](tile_tensor const& tensor, float* to) {
            switch (tensor.role) {
              case tensor_role::weight: layout::template unpack<Parameter>(memory.weights + offset, to); return true;
              case tensor_role::optimizer_state:
                layout::template unpack<Parameter>(state.slots + tensor.index * state.stride, to);
                return true;
              case tensor_role::accumulator:
                if (tensor.index == 0) layout::template unpack<Parameter>(memory.gradients + offset, to);
                return true;
              default: return false;
            }
          },
          [&](tile_tensor const& tensor, float const* from) {
            if (tensor.role == tensor_role::norm) sums[tensor.index] = static_cast<double>(*from);
          },
          [](tile_operation const&) {});
    }
  }
};

}  // namespace stagecraft::tiles
