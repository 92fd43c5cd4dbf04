// SPDX-License-Identifier: BSD-3-Clause
// The emulated IPUs of a configuration, checked: what Graphcore's configure_ipu_system() leaves behind.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/machines/ipu_config.hpp>
#include <stagecraft/machines/ipu_config_problem.hpp>

namespace stagecraft::machines {

/// What remains of a configuration if it is not asked how many IPUs there are, and what happens while a program runs.
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
  /// How many IPUs there are.
  static constexpr int devices = config.auto_select_ipus;
  /// Tiles of each IPU that are left to host and streaming memory.
  static constexpr int io_tiles = config.io_tiles.num_io_tiles;
};

}  // namespace stagecraft

namespace stagecraft::machines {

/// Whether a machine emulates IPUs.
template <class Machine>
inline constexpr bool is_ipu = requires { Machine::io_tiles; };

}  // namespace stagecraft::machines
