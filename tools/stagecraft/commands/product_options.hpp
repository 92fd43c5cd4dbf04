// SPDX-License-Identifier: BSD-3-Clause
// Options of the command line for products and convolutions on emulated IPUs.
#pragma once

#include "applications/application_source.hpp"

#include <CLI/CLI.hpp>
#include <array>

namespace stagecraft::tool {

/// Adds --matmul_amp, --conv_amp, --matmul_partial_type and --conv_partial_type, which are written to `machine`, and
/// returns them.
inline std::array<CLI::Option*, 4> add_product_options(CLI::App& command, application_machine& machine) {
  auto* const matmul_amp =
      command
          .add_option("--matmul_amp", machine.matmul_amp,
                      "The part of a tile's memory that plans of matrix products may take for temporary data")
          ->capture_default_str()
          ->check(CLI::Range(0.0, 1.0));
  auto* const conv_amp = command.add_option("--conv_amp", machine.conv_amp, "The same, of convolutions")
                             ->capture_default_str()
                             ->check(CLI::Range(0.0, 1.0));
  auto* const matmul_type = command
                                .add_option("--matmul_partial_type", machine.matmul_partial_type,
                                            "The type of partial sums of matrix products")
                                ->capture_default_str()
                                ->check(CLI::IsMember({"float", "half"}));
  auto* const conv_type =
      command.add_option("--conv_partial_type", machine.conv_partial_type, "The same, of convolutions")
          ->capture_default_str()
          ->check(CLI::IsMember({"float", "half"}));
  return {matmul_amp, conv_amp, matmul_type, conv_type};
}

}  // namespace stagecraft::tool
