// SPDX-License-Identifier: BSD-3-Clause
// The memory that a job needs on the tiles of its IPUs, and the errors if it does not fit.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/profile/time_profile.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft::tiles {

/// Bytes of the fullest tile, which is tile 0 (tile_mapping). All but `not_always_live` are in use all the time.
struct tile_memory_profile {
  std::int64_t weights = 0;                ///< the model's weights, laid out for the steps that read them
  std::int64_t optimizer_state = 0;        ///< arrays of the optimizer, such as momenta
  std::int64_t gradient_accumulators = 0;  ///< sums of gradients over micro-batches
  std::int64_t activations = 0;            ///< rings: kept for later passes, or on their way between stages
  std::int64_t batches = 0;                ///< targets, their scales, and losses
  std::int64_t code = 0;                   ///< assumed, see tile_code
  std::int64_t vertex_state = 0;           ///< vertices and their pointers
  std::int64_t exchange_code = 0;          ///< code that tiles execute to send and receive
  std::int64_t not_always_live = 0;        ///< further bytes in the step that needs most

  friend constexpr bool operator==(tile_memory_profile const&, tile_memory_profile const&) = default;

  /// Bytes of the tensors that lie there all the time.
  [[nodiscard]] constexpr std::int64_t always_live_data() const noexcept {
    return weights + optimizer_state + gradient_accumulators + activations + batches;
  }
  /// Bytes of everything that lies there all the time: tensors, code and vertices.
  [[nodiscard]] constexpr std::int64_t always_live() const noexcept {
    return always_live_data() + code + vertex_state + exchange_code;
  }
  /// Bytes that the tile needs in the step that needs most.
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return always_live() + not_always_live; }
  /// The peak, code and vertices excluded: the end of the highest memory that a tensor takes.
  [[nodiscard]] constexpr std::int64_t high_water_mark() const noexcept { return always_live_data() + not_always_live; }
};

/// The step that needs most memory.
struct memory_peak {
  int pass = -1;    ///< number of the pass; -1: the weight update
  int step = -1;    ///< index into profiled_steps_of the pass
  int weight = -1;  ///< the weight that is updated, in the weight update
};

/// One IPU of a replica.
struct device_memory_profile {
  tile_memory_profile tile;
  memory_peak peak;
  std::int64_t streaming_bytes = 0;  ///< bytes offloaded to streaming memory
  std::int64_t io_bytes = 0;         ///< bytes on all I/O tiles together that are transferred while the others compute
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
      for_each_index<table.stages()>([&]<int Pass>() { bytes += remote_activations<Pass>(); });
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
  /// Bytes of a ring for the tensors that the forward pass of a stage keeps.
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

template <class Job>
inline constexpr auto memory_profiles = array_of_each<planning_timetable<Job>.devices()>(
    []<int Device>() { return device_memory_profile_of<Job, Device>; });

/// The layer whose step needs most memory; empty if all is there all the time.
template <class Job, int Device>
inline constexpr std::string_view peak_layer = []() -> std::string_view {
  constexpr memory_peak peak = device_memory_profile_of<Job, Device>.peak;
  if constexpr (peak.pass >= 0)
    return Job::graph.layer_of(profiled_steps_of<Job, peak.pass>[peak.step].call).name;
  else if constexpr (peak.weight >= 0)
    return layer_info_of_weight<typename Job::model, static_cast<std::size_t>(peak.weight)>.name;
  else
    return {};
}();

/// A named part of a tile's memory.
struct named_bytes {
  std::string_view name;
  std::int64_t bytes = 0;
};
constexpr std::array<named_bytes, 9> parts_of(tile_memory_profile const& tile) {
  return {{{"weights", tile.weights},
           {"optimizer state", tile.optimizer_state},
           {"gradient accumulators", tile.gradient_accumulators},
           {"kept activations", tile.activations},
           {"batches", tile.batches},
           {"code", tile.code},
           {"vertex state", tile.vertex_state},
           {"exchange code", tile.exchange_code},
           {"the step's own tensors", tile.not_always_live}}};
}

/// Appends the three largest parts, the largest first.
constexpr void append_largest_parts(diagnostic& problem, tile_memory_profile const& tile) {
  auto parts = parts_of(tile);
  for (int k = 0; k < 3; ++k) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (parts[i].bytes > parts[largest].bytes) largest = i;
    if (parts[largest].bytes <= 0) return;
    if (k > 0) problem.append(std::string_view(", "));
    problem.append(parts[largest].name);
    problem.append(std::string_view(" "));
    problem.append(static_cast<long long>(parts[largest].bytes));
    parts[largest].bytes = 0;
  }
}

/// The bytes of an IPU's I/O tiles that data may take, if these work while the others compute; the rest is for code.
template <class Machine>
inline constexpr auto bytes_of_io_tiles =
    static_cast<std::int64_t>(static_cast<double>(Machine::config.io_tiles.available_memory_proportion) *
                              Machine::io_tiles * Machine::target.bytes_per_tile);

template <class Job, int Device>
constexpr void check_memory_of_device(diagnostic& problem) {
  constexpr auto const& memory = device_memory_profile_of<Job, Device>;
  constexpr auto const& table = planning_timetable<Job>;
  constexpr ipu_target const& target = Job::machine::target;
  if (problem.failed()) return;
  if (memory.tile.peak() > target.bytes_per_tile) {
    int const stage = memory.peak.pass >= 0 ? table.stage_of_pass(memory.peak.pass) : table.first_stage_on(Device);
    problem.code = 3010;
    auto const say = [&](auto const&... parts) { (problem.append(parts), ...); };
    say(std::string_view("stage "), stage, std::string_view(" of model '"), Job::graph.name(),
        std::string_view("' on IPU "), Device, std::string_view(": tile 0 needs "),
        static_cast<long long>(memory.tile.peak()), std::string_view(" bytes"));
    if (!peak_layer<Job, Device>.empty())
      say(std::string_view(" in layer '"), peak_layer<Job, Device>, std::string_view("'"));
    say(std::string_view(", but has "), target.bytes_per_tile, std::string_view("; most of it: "));
    append_largest_parts(problem, memory.tile);
    say(std::string_view(" [E3010]"));
  } else if (memory.streaming_bytes > target.streaming_memory_bytes) {
    problem.report(
        3012, "model '", Job::graph.name(), "' on IPU ", Device, ": ", static_cast<long long>(memory.streaming_bytes),
        " bytes are offloaded, but its streaming memory has ", static_cast<long long>(target.streaming_memory_bytes));
  } else if (memory.io_bytes > bytes_of_io_tiles<typename Job::machine>) {
    problem.report(3046, "model '", Job::graph.name(), "' on IPU ", Device, ": ",
                   static_cast<long long>(memory.io_bytes), " bytes come and go while it computes, but data may take ",
                   static_cast<long long>(bytes_of_io_tiles<typename Job::machine>), " bytes of its ",
                   Job::machine::io_tiles,
                   " I/O tiles; raise io_tiles.num_io_tiles or io_tiles.available_memory_proportion, or leave "
                   "place_ops_on_io_tiles out");
  }
}

/// E3010, E3012, E3046: a tile, the streaming memory of an IPU, or its I/O tiles are too small.
template <class Job>
inline constexpr diagnostic memory_problem = [] {
  diagnostic problem;
  for_each_index<planning_timetable<Job>.devices()>(
      [&]<int Device>() { check_memory_of_device<Job, Device>(problem); });
  return problem;
}();

}  // namespace stagecraft::tiles
