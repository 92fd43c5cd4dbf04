// SPDX-License-Identifier: BSD-3-Clause
// Assigns the layers of an exported model to stages by their names.
#pragma once

#include "pipeline/pipeline_configuration.hpp"
#include "pipeline/pipeline_solution.hpp"

#include <string>

namespace stagecraft::tool {

/// Finds stages by lists of regular expressions: a layer belongs to the stage whose list has an expression that matches
/// the beginning of its name, "encoder/dense" in a nested model. A layer that no expression matches is in the first
/// stage on IPU 0. If layers of a stage come after those of a later one, stages are made anew, one for each group of
/// successive layers, as by convert's `manual_sharding`. Both cases are reported on the error stream. Throws
/// file_error: E5001, E5030 the model cannot be read; E5177 a layer that expressions of two stages match; E5178 an
/// expression that matches no layer or input, or a stage without layers.
[[nodiscard]] pipeline_solution stages_by_name(pipeline_configuration const& configuration, std::string const& folder);

/// A solution whose names may be those of the nodes that layers were made of, with the names of layers in their place.
/// Throws file_error E5244 for a layer whose nodes are in two stages, and the errors of read_config.
[[nodiscard]] pipeline_solution solution_of_layers(pipeline_solution given, std::string const& folder);

}  // namespace stagecraft::tool
