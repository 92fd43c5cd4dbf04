// SPDX-License-Identifier: BSD-3-Clause
// The tool's commands. Each throws file_error if a file is wrong.
#pragma once

#include "source/source_model.hpp"

#include <string>
#include <vector>

namespace stagecraft::tool {

struct import_command {
  std::string file;    ///< .h5, .keras or .onnx
  std::string output;  ///< a path without an ending; empty: the file's name
  import_options options;
  std::vector<std::string> test_inputs;   ///< .npy files with inputs of the model
  std::vector<std::string> test_outputs;  ///< .npy files with its predictions for them

  /// Writes <output>.hpp, <output>.safetensors and <output>_test.cpp, and prints their names.
  void run() const;
};

struct export_command {
  std::string bundle;  ///< a folder that `save_model` has written
  std::string to;      ///< output path, whose ending decides the format

  /// The endings with their formats, for `--help`.
  [[nodiscard]] static std::string endings();
  /// Writes the file or folder, and prints its name.
  void run() const;
};

struct show_command {
  std::string file;
  import_options options;

  /// Prints inputs, outputs, layers and weights.
  void run() const;
};

}  // namespace stagecraft::tool
