// SPDX-License-Identifier: BSD-3-Clause
// The options of `stagecraft convert ... ipu`, from a command line and a configuration file: those of Graphcore's
// ipu_saved_model_cli.
#pragma once

#include "pipeline/pipeline_configuration.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// The nodes of a GELU, by regular expressions for the names of layers.
struct gelu_nodes {
  std::vector<std::string> nodes;                 ///< nodes that are replaced
  std::vector<std::string> node_as_gelu_input;    ///< nodes whose output the GELU reads
  std::vector<std::string> node_use_gelu_output;  ///< nodes that read them
};

/// Options of the embedded runtime.
struct embedded_runtime_options {
  std::string embedded_runtime_exec_cachedir = "poplar_exec";  ///< folder that the compiled application is copied to
  int runtime_api_timeout_us = 5000;  ///< microseconds that a pipeline waits for the next batch
};

/// All options, with Graphcore's defaults.
struct convert_options {
  std::vector<std::string> excluded_nodes;
  bool remove_excluded_nodes = false;
  int num_ipus = 1;
  double matmul_amp = 0.6;
  double conv_amp = 0.6;
  std::string matmul_partial_type = "float";
  std::string conv_partial_type = "float";
  int batch_size = 1;
  int batch_per_step = 0;
  std::string precision_mode = "FP32";
  std::vector<std::string> precision_conversion_excluded_nodes;
  bool no_ipu_placement = false;
  bool int64_to_int32_conversion = false;
  bool merge_subgraphs = false;
  std::optional<gelu_nodes> gelu_replacement;
  std::vector<std::vector<std::string>> manual_sharding;  ///< expressions for each IPU; none: the model is not divided
  std::optional<embedded_runtime_options> embedded_runtime_save_config;
  std::optional<pipeline_configuration> pipeline_cfg;
};

/// Parses an option of the command line: JSON with comments, or with Python's quotes. Throws file_error E5130.
[[nodiscard]] json read_option_text(std::string const& text, std::string const& option);

/// Reads a configuration file, which may have comments. Throws file_error E5131 if it cannot be read or is no JSON
/// object.
[[nodiscard]] json read_config_file(std::string const& path);

/// Reads options from their names and values; `where` is named in errors. Throws file_error E5130 for a name that no
/// option has, or a value of another type or out of its range, E5134 for an expression that cannot be read, and the
/// errors of read_pipeline_configuration and check_options.
[[nodiscard]] convert_options read_convert_options(json const& given, std::string const& where);

/// The options without effect beside the others, each with the reason. Default values are left out.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_without_effect(convert_options const& options,
                                                                                      json const& given);

/// Checks that the options can be combined. Throws file_error E5135 if the number of lists for sharding is not that of
/// the IPUs, E5136 for a divided model without layers on IPUs, E5138 for an embedded runtime without
/// int64_to_int32_conversion, E5139 for a pipeline without an embedded runtime, E5145 for a pipeline and sharding.
void check_options(convert_options const& options, std::string const& where);

}  // namespace stagecraft::tool
