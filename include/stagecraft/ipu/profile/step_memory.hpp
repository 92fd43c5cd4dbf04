// SPDX-License-Identifier: BSD-3-Clause
// The memory that the sub-steps of a training step of one's own need on an IPU, together.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// The fullest tile of an IPU that has several jobs with the same weights, which run one after the other.
struct shared_tile_profile {
  tile_memory_profile tile;
  std::size_t largest = 0;  ///< the job that needs most memory while it runs
};

/// Weights lie there once, as in the job that needs most for them. The state of each optimizer, code and vertices of
/// all jobs stay; accumulators, activations and what a step needs are those of the largest job.
template <class... Jobs>
inline constexpr shared_tile_profile shared_tile_profile_of = [] {
  constexpr std::array<tile_memory_profile, sizeof...(Jobs)> all{device_memory_profile_of<Jobs, 0>.tile...};
  auto const own_bytes = [](tile_memory_profile const& tile) {
    return tile.gradient_accumulators + tile.activations + tile.batches + tile.not_always_live;
  };
  shared_tile_profile result;
  auto& tile = result.tile;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (own_bytes(all[i]) > own_bytes(all[result.largest])) result.largest = i;
    tile.weights = std::max(tile.weights, all[i].weights);
    tile.optimizer_state += all[i].optimizer_state;
    tile.code += all[i].code;
    tile.vertex_state += all[i].vertex_state;
    tile.exchange_code += all[i].exchange_code;
  }
  auto const& most = all[result.largest];
  tile.gradient_accumulators = most.gradient_accumulators;
  tile.activations = most.activations;
  tile.batches = most.batches;
  tile.not_always_live = most.not_always_live;
  return result;
}();

/// E3010, E3012, E3046 of one of the jobs, or E2110: together they are too large for a tile.
template <class... Jobs>
inline constexpr diagnostic memory_problem_of_steps = [] {
  diagnostic problem;
  static_cast<void>((... || ((problem = memory_problem<Jobs>).failed())));
  if (problem.failed()) return problem;
  constexpr auto const& shared = shared_tile_profile_of<Jobs...>;
  constexpr std::int64_t bytes = std::array{Jobs::machine::target.bytes_per_tile...}[0];
  if (shared.tile.peak() <= bytes) return problem;
  problem.code = 2110;
  auto const say = [&](auto const&... parts) { (problem.append(parts), ...); };
  say(std::string_view("the "), static_cast<long long>(sizeof...(Jobs)),
      std::string_view(" sub-steps of a training step, on one IPU: tile 0 needs "),
      static_cast<long long>(shared.tile.peak()), std::string_view(" bytes in sub-step "),
      static_cast<long long>(shared.largest), std::string_view(", but has "), static_cast<long long>(bytes),
      std::string_view("; most of it: "));
  append_largest_parts(problem, shared.tile);
  say(std::string_view(" [E2110]"));
  return problem;
}();

}  // namespace stagecraft::tiles
