// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft run`: runs an application on arrays, and prints or saves its outputs, as `saved_model_cli run` does.
#pragma once

#include "applications/application_source.hpp"

#include <string>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct run_command {
  std::string dir;                                ///< an exported model, or another folder with an application
  std::string tag_set = "serve";                  ///< "serve"
  std::string signature_def = "serving_default";  ///< "serving_default"
  std::string inputs;                             ///< image=images.npy;size=both.npz[size]
  std::string input_exprs;                        ///< image=np.ones((2, 28, 28))
  std::string input_examples;                     ///< all=[{"image":[0, ...]}]
  std::string outdir;                             ///< folder for the outputs
  bool overwrite = false;                         ///< true: existing outputs are replaced
  bool tf_debug = false;                          ///< E5190
  std::string worker;                             ///< E5190
  application_machine machine;                    ///< the machine; emulated IPUs if init_ipu

  /// Throws file_error E5095 with saved_model_cli's words for wrong arguments, E5001, E5013 to E5015 for files that
  /// cannot be read, E5041 for files that cannot be written, E5190 for options that applications do not have;
  /// serving_error of the application.
  void run() const;
};

/// Adds the command to the program.
void add_run_command(CLI::App& app);

}  // namespace stagecraft::tool
