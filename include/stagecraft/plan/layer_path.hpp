// SPDX-License-Identifier: BSD-3-Clause
// Names of layers and calls that no other layer or call of a model has.
#pragma once

#include <stagecraft/graph/graph.hpp>
#include <string>

namespace stagecraft::plan {

/// "dense", or "encoder/dense" of a layer in a nested model.
[[nodiscard]] inline std::string path_of_layer(graph_view const& graph, int layer) {
  std::string path(graph.layer(layer).name.view());
  for (int at = graph.call(graph.layer(layer).first_call).nested_model; at > 0; at = graph.nested_models[at].parent)
    path = std::string(graph.nested_models[at].name.view()) + "/" + path;
  return path;
}

/// "encoder" of that layer: its own name, or that of the outermost nested model that it is in.
[[nodiscard]] inline std::string outermost_name(graph_view const& graph, int layer) {
  std::string name(graph.layer(layer).name.view());
  for (int at = graph.call(graph.layer(layer).first_call).nested_model; at > 0; at = graph.nested_models[at].parent)
    name = std::string(graph.nested_models[at].name.view());
  return name;
}

/// The path of a layer, of its first call; "dense[1]" of its second one.
[[nodiscard]] inline std::string path_of_call(graph_view const& graph, int call) {
  auto const& info = graph.call(call);
  auto path = path_of_layer(graph, info.layer);
  if (info.node_index > 0) path += "[" + std::to_string(info.node_index) + "]";
  return path;
}

}  // namespace stagecraft::plan
