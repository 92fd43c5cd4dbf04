// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft convert ... ipu`: turns a model into an application for emulated IPUs, as Graphcore's
// `ipu_saved_model_cli convert` does.
#pragma once

#include "commands/compile_command.hpp"
#include "source/source_layer.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct convert_options;

struct convert_command {
  std::string dir;  ///< a folder that `save_model` or `export_for_ipu_serving` has written, or a file of a model
  std::string output_dir;
  std::string tag_set = "serve";
  std::string signature_def = "serving_default";
  std::vector<std::string> output_nodes;  ///< nodes that are the outputs of a frozen graph
  std::string config_file;
  json given = json::object();  ///< options of the command line, which come before those of the file
  bool compiles = true;         ///< false: sources only
  compile_command compile;      ///< options of the compiler

  /// Writes the folder, and prints its name. Throws the errors of read_model, read_convert_options, model_converters,
  /// find_pipeline and compile_command, and file_error E5132 for other tags or signatures than models have, E5133 for a
  /// model that is converted already, E5209 for an option of the command line without effect, E5149 for a stage of the
  /// pipeline without remaining layers, E5091 for a folder that is not empty.
  void run() const;

 private:
  /// Options without effect: those of the command line are E5209, those of the file warnings.
  void report_without_effect(convert_options const& options, json const& all) const;
};

/// Adds the command to the program.
void add_convert_command(CLI::App& app);

}  // namespace stagecraft::tool
