// SPDX-License-Identifier: BSD-3-Clause
// Steps of layers and of weights (norms, updates, functions of the user's own) on an emulated IPU: by the host's
// kernels on the pieces of all tiles at once, which stand one after the other in the device's block, or tile by tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/ipu/emulation/tile_step.hpp>
#include <stagecraft/ipu/placement/tile_places.hpp>
#include <stagecraft/ipu/profile/pass_profile.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// A step of a call on emulated IPUs. Its cost is added to `emulated_device::counted`.
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
  /// The step's number in its pass.
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

/// The steps of a weight's update on emulated IPUs. The cost of each is added to `emulated_device::counted`. The
/// gradients of a layer's calls have been added up before, and those of replicas. Checked IPUs carry it out tile by
/// tile, and find the sum in the place of the first call's, and zeros in those of the others; unless replicas share
/// weights or state, or gradients are accumulated in halves: a part of a weight stands in the order of the host's
/// layout, and sums in halves are kept in float32 here.
template <class Plan, std::size_t Parameter>
class ipu_weight_step {
  using job = typename Plan::job;
  using layout = weight_layout<typename Plan::model, typename Plan::architecture>;
  using state_type = optimizer_state;
  static constexpr bool on_tiles = Plan::machine::checked && !Plan::accumulates_halves;
  static constexpr long long size = Plan::weights.size[Parameter], offset = Plan::weights.offset[Parameter];
  /// The factor of a loss that changes is known to the host.
  static constexpr bool scales_penalties = loss_scale_rule_of(Plan::training.optimizer).growth_steps > 0;

 public:
  /// The optimizer's step on a range of the weight's elements.
  template <class Range, class OnHost>
  static void update(pass_memory const& memory, state_type const& state, Range const& elements, OnHost const& on_host) {
    run<on_tiles>(lowered_update_of<job, Parameter>, update_cost_of<job, Parameter>, memory, state,
                  elements.last - elements.first != size, on_host, [&](tile_tensor const& tensor, float const* from) {
                    if (tensor.role == tensor_role::weight || tensor.role == tensor_role::optimizer_state)
                      layout::template pack<Parameter>(from, stored(memory, state, tensor));
                  });
  }
  /// Finds the squares that the weight contributes to norms over all weights.
  template <class OnHost>
  static void squares(pass_memory const& memory, state_type const& state, bool is_shared, double* sums,
                      OnHost const& on_host) {
    run<on_tiles>(lowered_squares_of<job, Parameter>, squares_cost_of<job, Parameter>, memory, state, is_shared,
                  on_host, [&](tile_tensor const& tensor, float const* from) {
                    if (tensor.role == tensor_role::norm) sums[tensor.index] = static_cast<double>(*from);
                  });
  }
  /// Applies the weight's constraint.
  template <class OnHost>
  static void constraint(pass_memory const& memory, bool is_shared, OnHost const& on_host) {
    run<on_tiles>(lowered_constraint_of<typename job::described, Parameter>, constraint_cost_of<job, Parameter>, memory,
                  {}, is_shared, on_host, pack_into<tensor_role::weight>(memory));
  }
  /// Adds the gradient of a penalty of the user's own to that of the weight.
  template <class OnHost>
  static void penalty(pass_memory const& memory, bool is_shared, OnHost const& on_host) {
    constexpr bool can_run = on_tiles && !scales_penalties;
    run<can_run>(lowered_penalty_of<job, Parameter>, penalty_cost_of<job, Parameter>, memory, {}, is_shared, on_host,
                 pack_into<tensor_role::accumulator>(memory));
  }

 private:
  template <bool OnTiles, class OnHost, class Store>
  static void run(lowered_step const& step, step_cost const& cost, pass_memory const& memory, state_type const& state,
                  bool is_shared, OnHost const& on_host, Store const& store) {
    if (!OnTiles || is_shared) {
      on_host();
      *emulated_device_of(memory).counted += cost.cost;
    } else if constexpr (OnTiles) {
      using places = tile_places<job>;
      auto const offsets =
          offsets_of(step, [](tile_tensor const& tensor) { return places::template of_update<Parameter>(tensor); });
      step_values values{.update = static_cast<std::int64_t>(memory.update),
                         .learning_rate = memory.learning_rate,
                         .loss_scale = memory.loss_scale};
      for (int i = 0; memory.norms != nullptr && i < norms_of<Plan::training.optimizer>.count; ++i)
        values.norms[i] = static_cast<float>(memory.norms[i]);
      auto const load = [&](tile_tensor const& tensor, float* to) {
        float const* const from = stored(memory, state, tensor);
        if (from != nullptr && (tensor.role != tensor_role::accumulator || tensor.index == 0))
          layout::template unpack<Parameter>(from, to);
        return from != nullptr;
      };
      *emulated_device_of(memory).counted +=
          run_step(*emulated_device_of(memory).tiles, step, offsets.data(), places::template end_of_update<Parameter>(),
                   values, load, store, [](task const&) {});
    }
  }
  template <tensor_role Role>
  static auto pack_into(pass_memory const& memory) {
    return [&memory](tile_tensor const& tensor, float const* from) {
      if (tensor.role == Role) layout::template pack<Parameter>(from, stored(memory, {}, tensor));
    };
  }
  /// Null of a tensor of the step alone.
  static float* stored(pass_memory const& memory, state_type const& state, tile_tensor const& tensor) {
    switch (tensor.role) {
      case tensor_role::weight: return memory.weights + offset;
      case tensor_role::optimizer_state: return state.slots + tensor.index * state.stride;
      case tensor_role::accumulator: return memory.gradients + offset;
      default: return nullptr;
    }
  }
};

}  // namespace stagecraft::tiles
