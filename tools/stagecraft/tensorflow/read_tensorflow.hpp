// SPDX-License-Identifier: BSD-3-Clause
// Models of TensorFlow's graphs: SavedModels without Keras's metadata, and frozen GraphDefs.
#pragma once

#include "saved_model/tensor_bundle.hpp"
#include "source/source_model.hpp"
#include "tensorflow/graph_def.hpp"

#include <string>
#include <string_view>

namespace stagecraft::tool {

/// The model of a signature of a SavedModel. Throws file_error: E5240, E5241 a graph that is damaged or not understood,
/// E5242 no such signature, E5064 with all nodes that the library lacks, E5100 and E5101 as tensor_bundle.
[[nodiscard]] source_model read_saved_graph(tensorflow_graph const& graph, tensor_bundle const& variables,
                                            std::string const& file, import_options const& options);

/// The model of a frozen GraphDef between its placeholders and the nodes of `options.output_nodes`. Throws file_error
/// E5240, E5241, E5064, and E5243 for an output that is no node, or if none is named and several might be meant.
[[nodiscard]] source_model read_frozen_graph(tensorflow_graph const& graph, std::string const& file,
                                             import_options const& options);
[[nodiscard]] source_model read_frozen_graph(std::string const& path, import_options const& options);

}  // namespace stagecraft::tool
