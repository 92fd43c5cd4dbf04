// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft compile`: turns a folder into an application with the machine's own C++ compiler.
#pragma once

#include "applications/application_source.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct compile_command {
  std::string folder;              ///< folder with application.cpp, or with model.json and application.json
  std::string march = "native";    ///< "off": none
  std::string compiler;            ///< empty: the environment's CXX, or c++
  std::string include;             ///< folder of the library's headers; empty: the one that this program knows
  std::string output;              ///< empty: application.so in the folder
  std::vector<std::string> flags;  ///< more options of the compiler
  application_machine machine;
  bool is_silent = false;

  /// Writes the sources that are missing, and application.so. Throws file_error E5094 if the compiler fails, E5209 for
  /// options that do not apply to a folder with its own application.cpp, and the errors of write_application_source.
  void run() const;
};

/// Adds the command to the program.
void add_compile_command(CLI::App& app);

}  // namespace stagecraft::tool
