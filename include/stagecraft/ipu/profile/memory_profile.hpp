// SPDX-License-Identifier: BSD-3-Clause
// What the tiles of an IPU need of their memory.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/profile/time_profile.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// Bytes of the tile with most, which is tile 0 (tile_mapping). All but the last is there all the time.
struct tile_memory_profile {
  std::int64_t weights = 0;                ///< the model's weights, as they lie for the steps that read them
  std::int64_t optimizer_state = 0;        ///< what the optimizer keeps with them, such as momenta
  std::int64_t gradient_accumulators = 0;  ///< sums of gradients over micro-batches
  std::int64_t activations = 0;            ///< rings: kept for later passes, or on their way between stages
  std::int64_t batches = 0;                ///< targets, their scales, and losses
  std::int64_t code = 0;                   ///< assumed, see tile_code
  std::int64_t vertex_state = 0;           ///< vertices and their pointers
  std::int64_t exchange_code = 0;          ///< what tiles execute to send and receive
  std::int64_t not_always_live = 0;        ///< in the step that needs most

  friend constexpr bool operator==(tile_memory_profile const&, tile_memory_profile const&) = default;

  /// Tensors, all the time.
  [[nodiscard]] constexpr std::int64_t always_live_data() const noexcept {
    return weights + optimizer_state + gradient_accumulators + activations + batches;
  }
  /// The same with code and vertices.
  [[nodiscard]] constexpr std::int64_t always_live() const noexcept {
    return always_live_data() + code + vertex_state + exchange_code;
  }
  /// What the tile needs in the step that needs most.
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return always_live() + not_always_live; }
  /// The same without code and vertices: the end of the highest memory that a tensor takes.
  [[nodiscard]] constexpr std::int64_t high_water_mark() const noexcept { return always_live_data() + not_always_live; }
};

/// Where the most memory is needed.
struct memory_peak {
  int pass = -1;    ///< -1: in the weight update
  int step = -1;    ///< of profiled_steps_of the pass
  int weight = -1;  ///< in the weight update
};

/// One IPU of a replica.
struct device_memory_profile {
  tile_memory_profile tile;
  memory_peak peak;
  std::int64_t streaming_bytes = 0;  ///< in streaming memory: what is offloaded
  std::int64_t io_bytes = 0;         ///< on all I/O tiles together: what comes and goes while the others compute
};

template <class Job, int Device>
class memory_profiler {
  using variables = variables_on_tiles<Job>;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr auto const& table_of_machine = unchecked_timetable<typename Job::planned>;
  static constexpr auto const& tiles = device_tiles_of<Job, Device>;

 public:
  constexpr device_memory_profile make() {
    auto& tile = result_.tile;
    tile.weights = tiles.weight_bytes;
    tile.optimizer_state = tiles.state_bytes;
    tile.gradient_accumulators = tiles.accumulator_bytes;
    tile.activations = tiles.ring_bytes;
    tile.batches = tiles.batch_bytes;
    std::int64_t highest = tiles.bytes();
    for (int pass = 0; pass < table.passes(); ++pass) {
      auto const& own = *pass_profiles<Job>[pass];
      if (own.device != Device) continue;
      if (table_of_machine.overlaps_io()) result_.io_bytes += own.transferred_bytes();
      if (own.peak_bytes <= highest) continue;
      highest = own.peak_bytes;
      result_.peak = {pass, own.peak_step, -1};
    }
    if constexpr (variables::trains) {
      auto const& update = update_profile_of<Job, Device>;
      if (update.peak_bytes > highest) {
        highest = update.peak_bytes;
        result_.peak = {-1, -1, update.peak_weight};
      }
    }
    tile.not_always_live = highest - tiles.bytes();
    tile_code const& code = code_of_steps();
    tile.code = code.code_bytes();
    tile.vertex_state = code.vertex_state_bytes();
    tile.exchange_code = code.exchange_code_bytes();
    find_streaming_bytes();
    return result_;
  }

 private:
  static constexpr tile_code code_of_steps() {
    std::size_t count = graph.parameters.size();
    for (auto const& steps : profiled_steps<Job>) count += steps.size();
    tile_code code(count, Job::machine::config.optimizations.enable_graph_outlining);
    for (int pass = 0; pass < table.passes(); ++pass)
      if (table.device_of_pass(pass) == Device)
        for (profiled_step const& step : profiled_steps<Job>[pass]) code.add(step.code);
    if constexpr (variables::trains)
      for (weight_profile const& weight : weight_profiles<Job>)
        if (weight.device == Device && weight.live_bytes > 0) code.add(weight.code);
    return code;
  }

  constexpr void find_streaming_bytes() {
    auto& bytes = result_.streaming_bytes;
    if constexpr (variables::trains)
      [&]<std::size_t... Pass>(std::index_sequence<Pass...>) {
        ((bytes += remote_activations<static_cast<int>(Pass)>()), ...);
      }(std::make_index_sequence<table.stages()>{});
    constexpr auto const& flow = flow_of<Job>;
    for (auto const& layer : graph.layers) {
      if (layer.call_count == 0 || table.device_of_stage(flow.stage[layer.first_call]) != Device) continue;
      for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
        add_variable(graph.parameters[i]);
    }
    if (variables::trains && variables::options.offload_gradient_accumulation_buffers == offload::remote)
      for (std::size_t i = 0; i < graph.calls.size(); ++i)
        if (variables::model_plan.calls[i].needs_gradient && table.device_of_stage(flow.stage[i]) == Device)
          add_accumulators(graph.layers[graph.calls[i].layer]);
  }
  constexpr void add_variable(parameter const& weight) {
    auto& bytes = result_.streaming_bytes;
    if (variables::remote_weight(weight)) {
      std::int64_t const all = weight.size() * std::int64_t{size_of(variables::variable_type(weight))};
      bool const shared = variables::options.replicated_weight_sharding && weight.trainable;
      bytes += shared ? ceil_div(all, variables::replicas) : all;
    }
    if constexpr (variables::trains)
      if (weight.trainable && variables::remote_state(weight))
        bytes += slots_of<Job::training.optimizer> * variables::state_elements(weight) *
                 size_of(variables::variable_type(weight));
  }
  constexpr void add_accumulators(layer_info const& layer) {
    for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
      if (auto const& weight = graph.parameters[i]; weight.trainable && variables::remote_accumulator(weight))
        result_.streaming_bytes += weight.size() * std::int64_t{size_of(variables::accumulator_type)};
  }
  /// A ring for what the forward pass of a stage keeps.
  template <int Pass>
  static constexpr std::int64_t remote_activations() {
    if (table.device_of_pass(Pass) != Device) return 0;
    int depth = 0;  // the same for all of it
    for (auto const& transfer : pass_plan_of<typename Job::planned, Pass>.transfers)
      if (transfer.device < 0) depth = transfer.to.depth;
    return depth * pass_profiles<Job>[Pass] -> stashed_bytes;
  }

  device_memory_profile result_;
};

template <class Job, int Device>
inline constexpr device_memory_profile device_memory_profile_of = detail::memory_profiler<Job, Device>().make();

}  // namespace stagecraft::tiles
