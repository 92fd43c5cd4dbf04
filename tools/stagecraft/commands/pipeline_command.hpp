// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft pipeline`: divides an exported model into pipeline stages.
#pragma once

#include "pipeline/pipeline_search.hpp"

#include <string>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct pipeline_command {
  pipeline_job job;
  std::string pipeline_cfg;  ///< JSON, or a file with JSON

  /// Errors are those of read_pipeline_configuration and find_pipeline.
  void run() const;
};

/// Adds the command to the program.
void add_pipeline_command(CLI::App& app);

}  // namespace stagecraft::tool
