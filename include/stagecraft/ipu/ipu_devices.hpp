// SPDX-License-Identifier: BSD-3-Clause
// The emulated IPUs of a configuration, checked: what Graphcore's configure_ipu_system() leaves behind. Level 3.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/ipu/ipu_config.hpp>
#include <stagecraft/ipu/ipu_config_problem.hpp>

namespace stagecraft {

namespace detail {

template <ipu_config Config>
inline constexpr diagnostic problem_of_ipu_config = ipu_config_problem(Config);

/// The configuration, or the default one in place of one that breaks a rule, so that one mistake stays one error.
template <ipu_config Config>
inline constexpr ipu_config config_to_use = problem_of_ipu_config<Config>.failed() ? ipu_config{} : Config;

}  // namespace detail

/// The IPUs that a configuration describes.
/// Errors: E3001 to E3009, `ipu_config_problem`.
template <ipu_config Config = ipu_config{}>
struct ipu_devices {
  static_assert(detail::report<detail::problem_of_ipu_config<Config>>());
  static constexpr ipu_config config = detail::config_to_use<Config>;
  /// The kind of IPU, with as many tiles as are emulated.
  static constexpr ipu_target target = config.target();
  /// How many IPUs there are.
  static constexpr int devices = config.auto_select_ipus;
  /// Tiles of each IPU that compute, and those that are left to host and streaming memory.
  static constexpr int compute_tiles = config.compute_tiles();
  static constexpr int io_tiles = config.io_tiles.num_io_tiles;
};

}  // namespace stagecraft
