// SPDX-License-Identifier: BSD-3-Clause
// Groups of a file's nodes that options of `convert` treat alike. Nodes of different groups are not made into one
// layer.
#pragma once

#include "commands/convert_options.hpp"

#include <functional>
#include <string>

namespace stagecraft::tool {

/// Returns a function that numbers the group of a node by its name. Expressions are searched for in names, apart from
/// those of a manual pipeline, which match the beginning. Throws the errors of read_pipeline_solution.
[[nodiscard]] std::function<int(std::string const& node)> groups_of(convert_options const& options);

}  // namespace stagecraft::tool
