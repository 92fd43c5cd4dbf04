// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's files of options: the models, how calls become batches, and where the metrics are.
#pragma once

#include <stagecraft/serving/runtime_options.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// Names and folders of the models of a `--model_config_file`. Throws file_error E5096: the file cannot be read; E5283:
/// it is not as TensorFlow Serving's, or a model asks for several versions or labels.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> read_model_config(std::string const& path);

/// Sets the options that a `--batching_parameters_file` has, and prints which have no effect. Throws as above.
void read_batching_parameters(std::string const& path, serving::runtime_options& to);

/// The path of the metrics of a `--monitoring_config_file`; empty: they are not to be had. Throws as above.
[[nodiscard]] std::string read_monitoring_config(std::string const& path);

}  // namespace stagecraft::tool
