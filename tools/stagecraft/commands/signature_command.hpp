// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft show --dir` and `scan`: describe an application as saved_model_cli describes a SavedModel.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace stagecraft::tool {

/// The options of saved_model_cli's `show`.
struct signature_command {
  std::string dir;  ///< an exported model, or another folder with an application
  bool all = false, list_ops = false;
  std::string tag_set, signature_def;

  /// Prints tag-sets, keys of signatures, or inputs and outputs, with saved_model_cli's words. Operations are the
  /// layers of an exported model. Throws file_error E5095 with its words for unknown names, E5190 for the layers of an
  /// application without its model; link_error E5087 to E5089.
  void run() const;
};

/// Checks the names of a tag-set and a signature, of which an application has one each. Throws file_error E5095 for
/// others.
void check_signature(std::string const& tag_set, std::string const& signature_def);

/// Adds saved_model_cli's options to the command `show`.
[[nodiscard]] std::shared_ptr<signature_command> add_signature_options(CLI::App& show);
/// Adds the command `scan` to the program.
void add_scan_command(CLI::App& app);

}  // namespace stagecraft::tool
