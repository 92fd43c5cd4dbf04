// SPDX-License-Identifier: BSD-3-Clause
// Reads the weights of a model layer by layer, with a function that finds them.
#pragma once

#include "source/source_model.hpp"

#include <functional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Finds the tensors of a layer with weights, in their order; `path` is that of for_each_weighted_layer.
using weights_finder = std::function<std::vector<stored_tensor>(model_layer const& layer, std::string const& path)>;

/// Fills in the values of all weights. Throws file_error E5065 with all weights that are missing or have other shapes.
void read_weights_by(weights_finder const& find, std::string const& file, source_model& model);

}  // namespace stagecraft::tool
