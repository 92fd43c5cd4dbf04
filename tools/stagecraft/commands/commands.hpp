// SPDX-License-Identifier: BSD-3-Clause
// The tool's commands. Each throws file_error for what is wrong with files.
#pragma once

#include "source/source_model.hpp"

#include <string>
#include <vector>

namespace stagecraft::tool {

struct import_command {
  std::string file;    ///< .h5, .keras or .onnx
  std::string output;  ///< a path without an ending; empty: the file's name
  import_options options;
  std::vector<std::string> test_inputs;   ///< .npy files: what the model was given
  std::vector<std::string> test_outputs;  ///< and what it predicted

  /// Writes <output>.hpp, <output>.safetensors and <output>_test.cpp, and says so.
  void run() const;
};

struct export_command {
  std::string bundle;  ///< a folder that `save_model` has written
  std::string to;      ///< output path; its ending says the format

  /// The endings, each with what it means.
  [[nodiscard]] static std::string endings();
  /// Writes the file or folder, and says so.
  void run() const;
};

struct show_command {
  std::string file;
  import_options options;

  /// Prints inputs, outputs, layers and weights.
  void run() const;
};

}  // namespace stagecraft::tool
