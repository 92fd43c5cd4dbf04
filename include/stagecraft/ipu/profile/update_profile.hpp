// SPDX-License-Identifier: BSD-3-Clause
// The cost of the weight update on an IPU, and of the replicas' collectives in it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/lowering/lowered_steps.hpp>
#include <stagecraft/ipu/placement/pass_tiles.hpp>
#include <stagecraft/ipu/placement/tile_code.hpp>
#include <stagecraft/ipu/profile/pass_profile.hpp>
#include <stagecraft/ipu/profile/replica_ring.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// The update of one weight.
struct weight_profile {
  int device = 0;
  operation_cost cost;
  std::int64_t streaming_bytes = 0;  ///< bytes fetched and stored
  std::int64_t streaming_cycles = 0;
  std::int64_t reduced_bytes = 0;   ///< gradients that replicas add up
  std::int64_t gathered_bytes = 0;  ///< weights of which each replica updates a part
  std::int64_t live_bytes = 0;      ///< bytes on a tile that are in use beside the step's own memory
  std::int64_t temporary_bytes = 0;
  step_code code;

  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return live_bytes + temporary_bytes; }
};

/// The weight update of one IPU: the updates of its weights one after the other.
struct update_profile {
  operation_cost cost;
  operation_cost reduction;  ///< additions of the replicas' gradients
  std::int64_t streaming_bytes = 0;
  std::int64_t streaming_cycles = 0;
  std::int64_t reduced_bytes = 0;
  std::int64_t gathered_bytes = 0;
  std::int64_t peak_bytes = 0;  ///< most bytes in use on a tile
  int peak_weight = -1;

  /// Cycles of the update, the replicas' collectives excluded.
  [[nodiscard]] constexpr std::int64_t cycles() const noexcept {
    return cost.cycles() + reduction.cycles() + streaming_cycles;
  }
};

template <class Job, std::size_t Weight>
constexpr weight_profile profile_weight() {
  using variables = variables_on_tiles<typename Job::in_training>;
  constexpr auto const& weight = Job::graph.parameters[Weight];
  weight_profile result;
  if constexpr (weight.trainable && layer_info_of_weight<typename Job::model, Weight>.call_count > 0) {
    constexpr auto const& tiles = update_tiles_of<Job, Weight>;
    constexpr auto const& cost = update_cost_of<Job, Weight>;
    constexpr auto const& options = variables::options;
    result.device = tiles.device;
    if (tiles.accumulator_count == 0) return result;
    result.cost = cost.cost;
    result.live_bytes = tiles.end;
    result.temporary_bytes = cost.temporary_bytes;
    result.code = step_code(lowered_update_of<Job, Weight>, cost.cost);
    auto const add = [&](lowered_step const& step, step_cost const& of) {
      result.cost += of.cost;
      result.temporary_bytes = larger(result.temporary_bytes, of.temporary_bytes);
      result.code += step_code(step, of.cost);
    };
    if constexpr (norms_of<Job::training.optimizer>.has_global())
      add(lowered_squares_of<Job, Weight>, squares_cost_of<Job, Weight>);
    if constexpr (weight.regularizer.is_own()) add(lowered_penalty_of<Job, Weight>, penalty_cost_of<Job, Weight>);
    if constexpr (!weight.constraint.empty())
      add(lowered_constraint_of<typename Job::described, Weight>, constraint_cost_of<Job, Weight>);
    std::int64_t const bytes = weight.size() * std::int64_t{size_of(variables::variable_type(weight))};
    bool const shares = options.replicated_optimizer_state_sharding || options.replicated_weight_sharding;
    auto const part = [](bool shared, std::int64_t all) { return shared ? ceil_div(all, variables::replicas) : all; };
    std::int64_t fetched = 0, stored = 0;
    if (variables::remote_state(weight)) {
      auto const state = slots_of<Job::training.optimizer> * variables::state_elements(weight) *
                         size_of(variables::variable_type(weight));
      fetched += state;
      stored += state;
    }
    if (variables::remote_weight(weight)) {
      fetched += part(options.replicated_weight_sharding, bytes);
      stored += part(options.replicated_weight_sharding, bytes);
    }
    if (variables::remote_accumulator(weight))
      fetched += tiles.accumulator_count * weight.size() * size_of(variables::accumulator_type);
    result.streaming_bytes = fetched + stored;
    result.streaming_cycles =
        streaming_memory_cycles(Job::machine::target, fetched) + streaming_memory_cycles(Job::machine::target, stored);
    if (variables::replicas > 1) {
      result.reduced_bytes = weight.size() * std::int64_t{size_of(variables::accumulator_type)};
      // Weights that replicas hold in parts stay where they are updated.
      if (shares && !(options.replicated_weight_sharding && variables::remote_weight(weight)))
        result.gathered_bytes = bytes;
    }
  }
  return result;
}

/// The cost of the update of a weight.
template <class Job, std::size_t Weight>
inline constexpr weight_profile weight_profile_of = detail::profile_weight<Job, Weight>();

/// The costs of the updates of all weights, in the order of the graph's weights.
template <class Job>
inline constexpr auto weight_profiles = array_of_each<Job::graph.parameters.size()>(
    []<int Weight>() -> weight_profile { return weight_profile_of<Job, Weight>; });

template <class Job, int Device>
constexpr update_profile profile_update() {
  using variables = variables_on_tiles<typename Job::in_training>;
  update_profile result;
  int number = 0;
  std::int64_t live = 0;
  for (weight_profile const& weight : weight_profiles<Job>) {
    int const index = number++;
    if (weight.device != Device || weight.live_bytes == 0) continue;
    result.cost += weight.cost;
    result.streaming_bytes += weight.streaming_bytes;
    result.streaming_cycles += weight.streaming_cycles;
    result.reduced_bytes += weight.reduced_bytes;
    result.gathered_bytes += weight.gathered_bytes;
    live = larger(live, weight.live_bytes);
    if (weight.bytes() <= result.peak_bytes) continue;
    result.peak_bytes = weight.bytes();
    result.peak_weight = index;
  }
  if (result.reduced_bytes > 0) {
    constexpr dtype type = variables::accumulator_type;
    auto const chunk = ceil_div(result.reduced_bytes / size_of(type), variables::replicas);
    auto const addition = cost_of_addition(chunk, type, Job::machine::target);
    for (int i = 1; i < variables::replicas; ++i) result.reduction += addition;
    // A chunk that is received is placed after all else.
    result.peak_bytes = larger(result.peak_bytes, live + bytes_on_tile(chunk, type, Job::machine::target));
  }
  return result;
}

/// One IPU's weight update.
template <class Job, int Device>
inline constexpr update_profile update_profile_of = detail::profile_update<Job, Device>();

/// The costs of the weight update on each device of a replica.
template <class Job>
inline constexpr auto update_profiles = array_of_each<planning_timetable<typename Job::in_training>.devices()>(
    []<int Device>() { return update_profile_of<Job, Device>; });

/// Cycles of exchanging norms between IPUs: in each round, the sums of squares of all of them come to the first one and
/// go back to the others. Each IPU sends one number for norms over all weights, and one for each weight's own norm
/// where replicas share the work.
template <class Job>
constexpr std::int64_t count_norm_cycles() {
  constexpr auto const& norms = norms_of<Job::training.optimizer>;
  constexpr auto const& options = Job::options;
  constexpr int devices = static_cast<int>(update_profiles<Job>.size());
  constexpr int replicas = Job::replicas;
  bool const shares =
      replicas > 1 && (options.replicated_optimizer_state_sharding || options.replicated_weight_sharding);
  int const ipus = shares ? replicas * static_cast<int>(devices_of_replica(devices)) : devices;
  std::int64_t cycles = 0;
  for (int round = 0; round < norms.rounds && ipus > 1; ++round) {
    std::int64_t numbers = 0;
    for (auto const& norm : norms)
      if (norm.round == round) numbers += norm.is_global ? 1 : shares ? Job::graph.parameters.size() : 0;
    if (numbers == 0) continue;
    growing_array<ipu_transfer> gathered, given;
    for (int ipu = 1; ipu < ipus; ++ipu) {
      gathered.push_back({ipu, 0, numbers * size_of(dtype::float32)});
      given.push_back({0, ipu, numbers * size_of(dtype::float32)});
    }
    cycles += inter_ipu_cycles(Job::machine::target, ipus, gathered) +
              inter_ipu_cycles(Job::machine::target, ipus, given) + 2 * sync_cycles(Job::machine::target, ipus);
  }
  return cycles;
}

template <class Job>
constexpr std::int64_t count_collective_cycles() {
  using variables = variables_on_tiles<typename Job::in_training>;
  constexpr int replicas = variables::replicas;
  if constexpr (replicas < 2) return 0;
  constexpr auto const& devices = update_profiles<Job>;
  constexpr auto const& options = variables::options;
  bool const shares = options.replicated_optimizer_state_sharding || options.replicated_weight_sharding;
  auto const phases = [&](auto bytes) {
    return (replicas - 1) * ring_phase_cycles(Job::machine::target, replicas, static_cast<int>(devices.size()),
                                              [&](int device) { return ceil_div(bytes(devices[device]), replicas); });
  };
  auto const reduced = phases([](update_profile const& device) { return device.reduced_bytes; });
  return shares ? reduced + phases([](update_profile const& device) { return device.gathered_bytes; }) : 2 * reduced;
}

/// Cycles of all transfers between IPUs in a weight update. The gradients of replicas are reduced in a ring, a part of
/// them on each replica. Then all replicas gather the sums, or the weights if each replica updates a part of them. Sums
/// for norms, of all devices of a replica, are exchanged, too.
template <class Job>
inline constexpr std::int64_t collective_cycles_of =
    detail::count_collective_cycles<Job>() + detail::count_norm_cycles<Job>();

}  // namespace stagecraft::tiles
