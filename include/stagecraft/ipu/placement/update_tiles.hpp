// SPDX-License-Identifier: BSD-3-Clause
// Where the update of a weight finds the weight, its gradients and the optimizer's numbers in the memory of every tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/placement/device_tiles.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// What stands in streaming memory lies behind all else, as long as the update of this weight takes.
template <std::size_t CallsOfLayer>
struct update_tiles {
  int device = 0;
  tile_place weight;
  tile_place state;  ///< a ring of the optimizer's numbers
  /// The sums of gradients of each call of the layer, in the order of the calls.
  std::array<std::int64_t, CallsOfLayer> accumulators{};
  int accumulator_count = 0;
  tile_place norms;  ///< a ring of the weight's parts of norms over all weights
  /// Where the memory that is in use ends.
  std::int64_t end = 0;
};

template <class M, std::size_t Weight>
inline constexpr layer_info const& layer_info_of_weight =
    graph_of<M>.layers[graph_of<M>.layer_of_parameter(static_cast<int>(Weight))];

template <class Job, std::size_t Weight>
constexpr auto place_update() {
  using variables = variables_on_tiles<typename Job::in_training>;
  constexpr auto const& graph = Job::graph;
  constexpr auto const& layer = layer_info_of_weight<typename Job::model, Weight>;
  constexpr auto const& weight = graph.parameters[Weight];
  constexpr int device =
      planning_timetable<typename Job::in_training>.device_of_stage(flow_of<Job>.stage[layer.first_call]);
  constexpr auto const& own = device_tiles_of<typename Job::in_training, device>;
  update_tiles<layer.call_count> result;
  result.device = device;
  result.end = own.bytes();
  auto const fetch = [&](int depth, std::int64_t bytes) {
    tile_place const place{result.end, depth, bytes};
    result.end += depth * bytes;
    return place;
  };
  result.weight = variables::remote_weight(weight) ? fetch(1, variables::weight_bytes(Weight)) : own.weight[Weight];
  result.state = variables::remote_state(weight) && slots_of<Job::training.optimizer> > 0
                     ? fetch(slots_of<Job::training.optimizer>, variables::state_bytes(Weight))
                     : own.state[Weight];
  auto const offset = variables::accumulator_offset(layer, static_cast<int>(Weight) - layer.first_parameter);
  int calls = 0;
  for (auto i = static_cast<std::size_t>(layer.first_call); calls < layer.call_count; ++i) {
    if (!graph.layers[graph.calls[i].layer].has_parameter(static_cast<int>(Weight))) continue;
    ++calls;
    if (!variables::model_plan.calls[i].needs_gradient) continue;
    result.accumulators[result.accumulator_count++] = variables::remote_accumulator(weight)
                                                          ? fetch(1, variables::accumulator_bytes(Weight)).offset
                                                          : own.accumulators[i].offset + offset;
  }
  if (constexpr auto const& norms = norms_of<Job::training.optimizer>; norms.has_global())
    result.norms = fetch(norms.count, rounded_bytes(size_of(dtype::float32)));
  return result;
}

template <class Job, std::size_t Weight>
inline constexpr auto update_tiles_of = detail::place_update<Job, Weight>();

}  // namespace stagecraft::tiles
