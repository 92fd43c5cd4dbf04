// SPDX-License-Identifier: BSD-3-Clause
// The argument of `convert --pipeline_cfg`, which says how a model is divided into pipeline stages: the pipeline
// configuration of Graphcore's ipu_saved_model_cli.
#pragma once

#include "source/source_layer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The method that finds the stages: the exact search, lists of regular expressions, or a solution file.
enum class pipeline_converter : unsigned char { automatic, manual, load };

/// The quantity that the search balances: cycles of the stages, or their memory.
enum class pipeline_priority : unsigned char { cycle, memory };

/// A pipeline configuration. A key that its converter does not have is a warning, and its field has the default.
struct pipeline_configuration {
  pipeline_converter converter = pipeline_converter::automatic;  ///< "auto", "manual" or "load"
  /// True: IPUs are emulated. There are no others (E5180).
  bool ipu_model = true;
  /// The folder that profiles are written to.
  std::string profiling_root_dir = "pipeline-profiling";
  /// The folder that `auto` and `manual` write the solution file to.
  std::string solution_dir = "solution";
  /// True: a profile is written. `auto` always writes one; the default is true for `manual` and false for `load`.
  bool profiling_enable = true;

  // auto
  pipeline_priority priority = pipeline_priority::cycle;  ///< "cycle" or "memory"
  /// Number of times that a division that does not fit is searched again with a lower bound of memory, before the next
  /// number of IPUs is tried.
  int fine_tune_iter = 5;
  int min_ipu_quantity = 2;   ///< numbers that are tried are powers of two, 2 or more, from this one
  int max_ipu_quantity = 64;  ///< the largest number of IPUs that is tried

  /// The first number of IPUs that is tried.
  [[nodiscard]] int least_ipus() const;

  // manual
  /// For each stage, regular expressions for the names of its layers.
  std::vector<std::vector<std::string>> manual_pipeline_config;
  /// The IPU of each stage.
  std::vector<int> device_info;
  /// The stage of layers that no expression matches; -1: they are on IPU 0, as Graphcore's tool puts them, with a
  /// warning.
  int unmatched_in_stage = -1;

  // load
  std::string solution_path = "solution/greedy_search.pipeconfig";  ///< the solution file: what `auto` writes
};

/// Parses JSON, which may have comments. Throws file_error of this code, which names `where`, for a text that is no
/// JSON or is nested deeper than any configuration, since that might exhaust the stack.
[[nodiscard]] json parse_configuration(std::string_view text, char const* code, std::string const& where);

/// Reads a configuration from JSON. `where` is named in errors. Throws file_error: E5171 `converter` is missing or
/// unknown; E5172 a key that no converter has; E5173 a value of another type, or out of its range; E5174 a key is
/// missing, of `load` if its default is no file either; E5175 not as many lists of expressions as devices; E5176 an
/// expression that cannot be read.
[[nodiscard]] pipeline_configuration read_pipeline_configuration(json const& config, std::string const& where);

/// Reads a configuration from a text, or from the file that it names; both may have comments. Throws as above, and
/// E5170 it is neither JSON nor a file with JSON.
[[nodiscard]] pipeline_configuration read_pipeline_configuration(std::string const& text_or_file);

}  // namespace stagecraft::tool
