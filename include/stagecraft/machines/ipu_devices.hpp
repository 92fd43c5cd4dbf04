// SPDX-License-Identifier: BSD-3-Clause
// The emulated IPUs of a configuration, checked: what Graphcore's configure_ipu_system() makes. Each rule that a
// configuration must follow has a code.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <cstdint>
#include <string_view>

namespace stagecraft::machines {

/// The most IPUs that a system has: as many as the largest that was sold as one (Bow Pod256).
inline constexpr int max_ipus = 256;

/// E3008: no IPU is like that, and formulas would divide by zero.
constexpr void check_ipu_target(ipu_target const& ipu, diagnostic& problem) {
  auto const check = [&](std::int64_t number, std::int64_t least, std::int64_t most, std::string_view what) {
    if (number < least || number > most)
      problem.report(3008, "the IPU '", ipu.name, "' has ", what, ' ', static_cast<long long>(number),
                     "; it must be from ", static_cast<long long>(least), " to ", static_cast<long long>(most));
  };
  std::int64_t const much = 1'000'000;
  check(ipu.tiles_per_ipu, 1, 1 << 16, "tiles_per_ipu");
  check(ipu.bytes_per_tile, 1024, 1 << 30, "bytes_per_tile");
  check(ipu.num_worker_contexts, 1, 64, "num_worker_contexts");
  check(ipu.tile_clock_frequency, much, 100'000 * much, "tile_clock_frequency");
  if (ipu.data_path_width != 32 && ipu.data_path_width != 64 && ipu.data_path_width != 128)
    problem.report(3008, "the IPU '", ipu.name, "' has data_path_width ", ipu.data_path_width,
                   "; it must be 32, 64 or 128");
  check(ipu.memcpy_bytes_per_cycle, 1, 1024, "memcpy_bytes_per_cycle");
  check(ipu.fp16_in_fp16_out_conv_units_per_tile, 1, 1024, "fp16_in_fp16_out_conv_units_per_tile");
  check(ipu.fp16_in_fp32_out_conv_units_per_tile, 1, 1024, "fp16_in_fp32_out_conv_units_per_tile");
  check(ipu.fp32_in_fp32_out_conv_units_per_tile, 1, 1024, "fp32_in_fp32_out_conv_units_per_tile");
  check(ipu.conv_unit_max_pipeline_depth, 1, 64, "conv_unit_max_pipeline_depth");
  check(ipu.fp16_conv_unit_input_load_elems_per_cycle, 1, 64, "fp16_conv_unit_input_load_elems_per_cycle");
  check(ipu.fp32_conv_unit_input_load_elems_per_cycle, 1, 64, "fp32_conv_unit_input_load_elems_per_cycle");
  check(ipu.conv_unit_coeff_load_bytes_per_cycle, 2, 1024, "conv_unit_coeff_load_bytes_per_cycle");
  if (!(ipu.exchange_bytes_per_cycle >= 0.0625F && ipu.exchange_bytes_per_cycle <= 1024.0F))
    problem.report(3008, "the IPU '", ipu.name, "' has an exchange_bytes_per_cycle outside 1/16 to 1024");
  check(ipu.tiles_per_shared_exchange_bus, 1, 64, "tiles_per_shared_exchange_bus");
  check(ipu.max_ipu_sync_delay, 0, much, "max_ipu_sync_delay");
  check(ipu.ipu_link_bits_per_second, much, 1'000'000 * much, "ipu_link_bits_per_second");
  check(ipu.ipu_link_efficiency_percent, 1, 100, "ipu_link_efficiency_percent");
  check(ipu.links_within_pair, 1, 64, "links_within_pair");
  check(ipu.links_across_ladder, 1, 64, "links_across_ladder");
  check(ipu.links_along_ladder, 1, 64, "links_along_ladder");
  check(ipu.sync_hop_nanoseconds, 0, much, "sync_hop_nanoseconds");
  check(ipu.global_sync_cycles, 0, much, "global_sync_cycles");
  check(ipu.host_bytes_per_second, much, 1'000'000 * much, "host_bytes_per_second");
  check(ipu.host_latency_cycles, 0, 1000 * much, "host_latency_cycles");
  check(ipu.streaming_memory_bytes, 0, 1'000'000'000 * much, "streaming_memory_bytes");
  check(ipu.streaming_memory_bytes_per_second, much, 1'000'000 * much, "streaming_memory_bytes_per_second");
  check(ipu.streaming_memory_latency_cycles, 0, 1000 * much, "streaming_memory_latency_cycles");
}

/// E3004, E3005.
constexpr void check_available_memory_proportion(float proportion, std::string_view option, diagnostic& problem) {
  if (proportion >= 0.0F && proportion <= 1.0F) return;
  if (!(proportion > -1e6F && proportion < 1e6F))
    problem.report(3004, "option ", option,
                   ".available_memory_proportion is far out or not a number; it must be from 0 to 1");
  else
    problem.report(3004, "option ", option, ".available_memory_proportion is ", static_cast<int>(proportion * 100),
                   " percent; it must be from 0 to 1");
}
constexpr void check_poplar_options(poplar_options const& options, std::string_view option, diagnostic& problem) {
  check_available_memory_proportion(options.available_memory_proportion, option, problem);
  if (options.partials_type != dtype::float32 && options.partials_type != dtype::float16)
    problem.report(3005, "option ", option, ".partials_type is ", name(options.partials_type),
                   "; it must be float32 or float16");
}

constexpr void check_number_of_ipus(int number, diagnostic& problem) {
  if (number < 1 || number > max_ipus)
    problem.report(3001, "auto_select_ipus is ", number, "; it must be from 1 to ", max_ipus);
  if (number > 1 && number % 2 != 0)
    problem.report(3002, "auto_select_ipus is ", number, "; IPUs come in pairs, so it must be 1 or even: choose ",
                   number + 1);
}

/// E3003, E3006, E3007.
constexpr void check_tiles(ipu_config const& config, diagnostic& problem) {
  auto const& version = *config.ipu_model.version;
  int const tiles = config.ipu_model.tiles_per_ipu;
  if (tiles < 0 || tiles > version.tiles_per_ipu)
    problem.report(3003, "ipu_model.tiles_per_ipu is ", tiles, ", but an '", version.name, "' has ",
                   version.tiles_per_ipu, " tiles; it must be at most that, or 0 for all");
  if (config.io_tiles.place_ops_on_io_tiles && config.io_tiles.num_io_tiles == 0)
    problem.report(3006,
                   "io_tiles.place_ops_on_io_tiles is set, but io_tiles.num_io_tiles is 0; "
                   "reserve I/O tiles, or place no operations on them");
  if (config.io_tiles.num_io_tiles < 0 || config.io_tiles.num_io_tiles >= config.target().tiles_per_ipu)
    problem.report(3007, "io_tiles.num_io_tiles is ", config.io_tiles.num_io_tiles, ", but an IPU has ",
                   config.target().tiles_per_ipu, " tiles; at least one must be left to compute");
}

/// The first rule that a configuration breaks; its code is 0 if there is none.
///
///     static_assert(!stagecraft::machines::ipu_config_problem({.auto_select_ipus = 4}).failed());
[[nodiscard]] constexpr diagnostic ipu_config_problem(ipu_config const& config) {
  diagnostic problem;
  check_number_of_ipus(config.auto_select_ipus, problem);
  check_ipu_target(*config.ipu_model.version, problem);
  if (problem.failed()) return problem;
  check_tiles(config, problem);
  check_poplar_options(config.matmuls, "matmuls", problem);
  check_poplar_options(config.convolutions, "convolutions", problem);
  check_available_memory_proportion(config.io_tiles.available_memory_proportion, "io_tiles", problem);
  if (config.optimizations.minimum_remote_tensor_size < 0)
    problem.report(3009, "optimizations.minimum_remote_tensor_size is ",
                   config.optimizations.minimum_remote_tensor_size, "; it must be at least 0");
  return problem;
}

/// A configuration without the number of IPUs and without the options of a running program.
[[nodiscard]] constexpr ipu_config config_of_one_ipu(ipu_config config) {
  config.auto_select_ipus = 1;
  config.allow_recompute = false;
  config.ipu_model.checked = false;
  config.floating_point_behaviour = {};
  config.optimizations = {};
  return config;
}

template <ipu_config Config>
inline constexpr diagnostic problem_of_ipu_config = ipu_config_problem(Config);

/// The configuration, or the default one in place of one that breaks a rule, so that one mistake stays one error.
template <ipu_config Config>
inline constexpr ipu_config config_to_use = problem_of_ipu_config<Config>.failed() ? ipu_config{} : Config;

}  // namespace stagecraft::machines

namespace stagecraft {

/// The IPUs that a configuration describes.
/// Errors: E3001 to E3009, `ipu_config_problem`.
template <ipu_config Config = ipu_config{}>
struct ipu_devices {
  /// One IPU with the same tiles.
  using one_ipu = ipu_devices<detail::config_of_one_ipu(Config)>;
  static_assert(detail::report<detail::problem_of_ipu_config<Config>>());
  static constexpr ipu_config config = detail::config_to_use<Config>;
  /// The kind of IPU, with as many tiles as compute.
  static constexpr ipu_target target = config.compute_target();
  /// The number of IPUs.
  static constexpr int devices = config.auto_select_ipus;
  /// Tiles of each IPU that are left to host and streaming memory.
  static constexpr int io_tiles = config.io_tiles.num_io_tiles;
};

}  // namespace stagecraft

namespace stagecraft::machines {

/// True if a machine emulates IPUs.
template <class Machine>
inline constexpr bool is_ipu = requires { Machine::io_tiles; };

}  // namespace stagecraft::machines

#include <stagecraft/diagnostics/end_headers.hpp>
