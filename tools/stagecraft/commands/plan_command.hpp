// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft plan`: writes a page on which a person compares divisions of a model among emulated IPUs.
#pragma once

#include "applications/application_source.hpp"
#include "applications/cxx_compiler.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct plan_command {
  std::string from;       ///< a header that declares the model, or the folder of an exported model
  std::string model;      ///< the model's type in the header, "mine::mlp"; of a folder: empty
  std::string training;   ///< the header's description of a training or an inference; empty: an inference
  int batch_size = 0;     ///< samples of a micro-batch of that inference; 0: the export's, or 1
  std::vector<int> ipus;  ///< the choices, as in plan_choices; empty: its defaults
  std::vector<int> stages_per_ipu, micro_batches, replicas, ranks;
  double gigabits = 0;  ///< the network between ranks, as in stagecraft::network
  double latency_us = 0;
  int ranks_of_host = 1;
  std::vector<std::string> schedules;  ///< "grouped", "interleaved", "sequential"
  application_machine machine;
  cxx_compiler compiler;
  std::vector<std::string> flags;  ///< more options of the compiler, such as folders of the header's own includes
  std::string output = "plan.html";
  std::string json;  ///< where the numbers are written to; empty: nowhere

  /// Compiles and runs a program that asks the library, and writes the page. Throws file_error: E5001 the header or
  /// folder cannot be read; E5094 the compiler has failed, or the program; E5209 --model or --training with a folder,
  /// or --batch_size with --training; E5264 a name that is none of C++, or no --model with a header.
  void run() const;
};

/// Adds the command to the program.
void add_plan_command(CLI::App& app);

}  // namespace stagecraft::tool
