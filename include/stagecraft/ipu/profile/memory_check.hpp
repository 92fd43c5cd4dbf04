// SPDX-License-Identifier: BSD-3-Clause
// Whether a program fits into the memory of its IPUs, and what is said if it does not.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/ipu/profile/memory_profile.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace stagecraft::tiles {

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

/// What a tile's memory holds, by names.
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

/// The three largest, the largest first.
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

/// What data may take of an IPU's I/O tiles, if these work while the others compute; the rest is for code.
template <class Machine>
inline constexpr auto bytes_of_io_tiles = static_cast<std::int64_t>(
    double{Machine::config.io_tiles.available_memory_proportion} * Machine::io_tiles * Machine::target.bytes_per_tile);

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
  [&]<std::size_t... Device>(std::index_sequence<Device...>) {
    (check_memory_of_device<Job, static_cast<int>(Device)>(problem), ...);
  }(std::make_index_sequence<planning_timetable<Job>.devices()>{});
  return problem;
}();

}  // namespace stagecraft::tiles
