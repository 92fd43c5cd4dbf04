// SPDX-License-Identifier: BSD-3-Clause
// What every single tile of an IPU has of the tensors that lie on all of them.
#pragma once

#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::reports {

/// A tensor, or `copies` of them, of which each tile has a piece.
struct tensor_on_tiles {
  memory_category category = memory_category::weights;
  std::int64_t elements = 0;
  dtype type = dtype::float32;
  std::int64_t copies = 1;
  weight_mapping const* planned = nullptr;
};

template <class Job, int Device>
std::vector<tensor_on_tiles> tensors_on_tiles() {
  using variables = variables_on_tiles<Job>;
  constexpr auto const& graph = Job::graph;
  auto const& tiles = device_tiles_of<Job, Device>;
  auto const& flow = flow_of<Job>;
  std::vector<tensor_on_tiles> result;
  auto const elements = [&](std::size_t call) {
    return std::int64_t{Job::training.batch_size} * graph.calls[call].shape.size();
  };
  auto const add = [&](memory_category category, tile_place const& place, std::int64_t count, dtype type,
                       weight_mapping const* planned = nullptr) {
    if (place.exists()) result.push_back({category, count, type, place.depth, planned});
  };
  auto const& planned = planned_weights<Job>;
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    auto const& weight = graph.parameters[i];
    add(memory_category::weights, tiles.weight[i], weight.size(), variables::variable_type(weight), planned[i]);
    add(memory_category::optimizer_state, tiles.state[i], variables::state_elements(weight),
        variables::variable_type(weight), planned[i]);
  }
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const& layer = graph.layer_of(static_cast<int>(i));
    for (int k = layer.first_parameter; k < layer.first_parameter + layer.parameter_count; ++k)
      if (auto const& weight = graph.parameters[k]; weight.trainable && !variables::remote_accumulator(weight))
        add(memory_category::gradient_accumulators, tiles.accumulators[i], weight.size(), variables::accumulator_type,
            planned[k]);
    dtype const type = value_types_of<Job>[i];
    add(memory_category::activations, tiles.value[i], elements(i), type);
    add(memory_category::activations, tiles.gradient[i], elements(i), type);
    for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge])
      add(memory_category::activations, tiles.part[edge], elements(i), type);
    auto const& saved = all_saved_on_tiles<Job>[i];
    for (int k = 0; k < saved.count; ++k)
      add(memory_category::activations, tiles.saved[i], saved.tensors[k].elements, saved.tensors[k].type);
  }
  return result;
}

/// The bytes of a tile's piece, in whole loads.
inline std::int64_t bytes_of_piece(tensor_on_tiles const& tensor, ipu_target const& target, int tile) {
  tile_mapping const mapping({tensor_role::temporary, 0, tensor.type, tensor.elements, tensor.planned}, target);
  auto const elements = mapping.elements_of(tile);
  return tensor.copies * rounded_bytes(elements * size_of(tensor.type));
}

/// Tile 0 has what the profile says. Others have their own pieces of all that is always there; of the rest, what tile 0
/// has, since no more is known of single steps. I/O tiles have what comes and goes, each its part.
template <class Job, int Device>
std::vector<profile_tile> tiles_of_profile() {
  auto const& memory = device_memory_profile_of<Job, Device>.tile;
  profile_tile for_io;
  if constexpr (Job::machine::io_tiles > 0)
    for_io[memory_category::batches] = ceil_div(device_memory_profile_of<Job, Device>.io_bytes, Job::machine::io_tiles);
  profile_tile full;
  full[memory_category::weights] = memory.weights;
  full[memory_category::optimizer_state] = memory.optimizer_state;
  full[memory_category::gradient_accumulators] = memory.gradient_accumulators;
  full[memory_category::activations] = memory.activations;
  full[memory_category::batches] = memory.batches;
  full[memory_category::code] = memory.code;
  full[memory_category::vertex_state] = memory.vertex_state;
  full[memory_category::exchange_code] = memory.exchange_code;
  full[memory_category::not_always_live] = memory.not_always_live;
  std::vector<profile_tile> tiles(Job::machine::target.tiles_per_ipu, full);
  for (auto const& tensor : tensors_on_tiles<Job, Device>()) {
    auto const most = bytes_of_piece(tensor, Job::machine::target, 0);
    for (int tile = 1; tile < Job::machine::target.tiles_per_ipu; ++tile)
      tiles[tile][tensor.category] -= most - bytes_of_piece(tensor, Job::machine::target, tile);
  }
  tiles.resize(tiles.size() + Job::machine::io_tiles, for_io);
  return tiles;
}

}  // namespace stagecraft::reports
