// SPDX-License-Identifier: BSD-3-Clause
// The C++ of an application, from the folder of an exported model.
#pragma once

#include "source/source_text.hpp"

#include <stagecraft/io/detail/option_json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The machine that an application is compiled for.
struct application_machine {
  int threads = 1;  ///< threads of the host
  /// Sizes of the host's batches; none: the sizes in application.json.
  std::vector<int> allowed_batch_sizes = {};
  bool init_ipu = false;  ///< true: emulated IPUs in place of the host
  int num_ipus = 1;
  double matmul_amp = 0.6;  ///< available memory proportion
  double conv_amp = 0.6;
  std::string matmul_partial_type = "float";  ///< or "half"
  std::string conv_partial_type = "float";
};

/// The name of the header with an exported model's steps, which is in its folder; empty if there is none. Throws
/// file_error E5001, E5030 if application.json cannot be read.
[[nodiscard]] std::string processing_header(std::string const& folder);

/// The machine in a folder's application.json, if the folder holds a converted model. Throws file_error E5001, E5030 if
/// application.json cannot be read.
[[nodiscard]] std::optional<application_machine> converted_machine(std::string const& folder);

/// Reads a whole file. Throws file_error E5001 if it cannot be read.
[[nodiscard]] std::string read_text_file(std::string const& path);

/// Reads a file of an exported model, with its keys in their order. Throws file_error E5001 if it cannot be read, E5030
/// if it is no JSON.
[[nodiscard]] io::json read_json_file(std::string const& path);

/// The IPUs of a machine in C++: "sc::ipu_config{...}".
[[nodiscard]] source_text ipu_config_text(application_machine const& machine);

/// Writes the header of the model in a folder's model.json, and returns its type, "models::digits". Throws the errors
/// of read_config, and file_error E5001, E5030 for a file that cannot be read.
source_text write_model_header(std::string const& folder, std::string const& header);

/// Writes model.hpp and application.cpp into a folder with model.json and application.json, for `wanted`: IPUs, or the
/// machine of a converted model. Throws the errors of read_config, and file_error E5001, E5030 for files that cannot be
/// read, E5148 for allowed_batch_sizes, E5209 for threads with IPUs.
void write_application_source(std::string const& folder, application_machine const& wanted);

}  // namespace stagecraft::tool
