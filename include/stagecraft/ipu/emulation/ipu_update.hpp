// SPDX-License-Identifier: BSD-3-Clause
// The update of a weight on an emulated IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/ipu/emulation/runs_on_tiles.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// What it costs is added to `memory.counted`. The gradients of a layer's calls have been added up before, and those of
/// replicas; checked IPUs find the sum in the place of the first call's, and zeros in those of the others.
template <class Plan, std::size_t Parameter>
class ipu_update {
  using model = typename Plan::model;
  using machine = typename Plan::machine;
  using layout = weight_layout<model, typename Plan::architecture>;
  static constexpr lowered_step const& step = lowered_update_of<typename Plan::job, Parameter>;
  static constexpr long long size = Plan::weights.size[Parameter], offset = Plan::weights.offset[Parameter];

 public:
  template <class State, class Range, class OnHost>
  static void run(host_memory const& memory, State const& state, Range const& elements, OnHost const& on_host) {
    // A part of a weight stands in the order of the host's layout, and half precision sums are kept in float32 here.
    constexpr bool on_tiles = runs_on_tiles<Plan> && !Plan::accumulates_halves;
    if (!on_tiles || elements.last - elements.first != size) {
      on_host();
      *memory.counted += update_cost_of<typename Plan::job, Parameter>.cost;
    } else if constexpr (on_tiles) {
      using places = tile_places<typename Plan::job>;
      auto const offsets =
          offsets_of(step, [](tile_tensor const& tensor) { return places::template of_update<Parameter>(tensor); });
      step_values values{.update = static_cast<std::int64_t>(memory.update),
                         .learning_rate = memory.learning_rate,
                         .loss_scale = memory.loss_scale};
      for (int i = 0; i < detail::norms_of<Plan::training.optimizer>.count; ++i)
        values.norms[i] = static_cast<float>(memory.norms[i]);
      *memory.counted += run_step(
          *memory.tiles, step, offsets.data(), places::template end_of_update<Parameter>(), values,
          [&](tile_tensor const& tensor, float* to) {
            switch (tensor.role) {
              case tensor_role::weight: layout::template unpack<Parameter>(memory.weights + offset, to); break;
              case tensor_role::optimizer_state:
                layout::template unpack<Parameter>(state.slots + tensor.index * state.stride, to);
                break;
              case tensor_role::accumulator:
                if (tensor.index == 0) layout::template unpack<Parameter>(memory.gradients + offset, to);
                break;
              default: return false;
            }
            return true;
          },
          [&](tile_tensor const& tensor, float const* from) {
            if (tensor.role == tensor_role::weight) layout::template pack<Parameter>(from, memory.weights + offset);
            if (tensor.role == tensor_role::optimizer_state)
              layout::template pack<Parameter>(from, state.slots + tensor.index * state.stride);
          },
          [](tile_operation const&) {});
    }
  }
};

}  // namespace stagecraft::tiles
