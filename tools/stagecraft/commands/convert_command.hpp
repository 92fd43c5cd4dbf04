// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft convert ... ipu`: a model becomes an application for emulated IPUs, as Graphcore's
// `ipu_saved_model_cli convert` makes one.
#pragma once

#include "commands/compile_command.hpp"
#include "source/source_layer.hpp"

#include <string>

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
  std::string config_file;
  json given = json::object();  ///< options of the command line, which come before those of the file
  bool compiles = true;         ///< false: sources only
  compile_command compile;      ///< options of the compiler

  /// Writes the folder, and says so. Throws file_error: as read_model, read_convert_options, model_converters,
  /// find_pipeline and compile_command; E5132 other tags or signatures than models have; E5133 the model is converted
  /// already; E5209 an option of the command line has no effect; E5149 a stage of its pipeline has no layers left;
  /// E5091 the folder holds something.
  void run() const;

 private:
  /// Options without effect: those of the command line are E5209, those of the file warnings.
  void report_without_effect(convert_options const& options, json const& all) const;
};

/// Adds the command to the program.
void add_convert_command(CLI::App& app);

}  // namespace stagecraft::tool
