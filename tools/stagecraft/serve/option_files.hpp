// SPDX-License-Identifier: BSD-3-Clause
// TensorFlow Serving's files of options: the models, how calls become batches, and where the metrics are.
#pragma once

#include "serve/models/model_settings.hpp"

#include <stagecraft/serving/runtime_options.hpp>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The text of a file of options. Throws file_error E5096: it cannot be read.
[[nodiscard]] std::string read_option_file(std::string const& path);

/// The models of a `--model_config_file`, from its text. Throws file_error E5283: it is not as TensorFlow Serving's.
[[nodiscard]] std::vector<model_settings> parse_model_config(std::string const& text, std::string const& path);

/// Sets the options that a `--batching_parameters_file` has, and prints which have no effect. Throws E5096, E5283.
void read_batching_parameters(std::string const& path, serving::runtime_options& to);

/// The path of the metrics of a `--monitoring_config_file`; empty: they are not to be had. Throws E5096,
/// E5283.
[[nodiscard]] std::string read_monitoring_config(std::string const& path);

}  // namespace stagecraft::tool
