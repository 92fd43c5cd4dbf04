// SPDX-License-Identifier: BSD-3-Clause
// The names under which a model's weights stand in files.
#pragma once

#include <stagecraft/plan/layer_path.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::io {

using stagecraft::detail::path_of_layer;

/// "dense/kernel:0", Keras's name of a weight; in nested models with their names before it: "encoder/dense/kernel:0",
/// so that no two weights have one name.
template <class M>
[[nodiscard]] std::string weight_path(int weight) {
  return path_of_layer(graph_of<M>, graph_of<M>.layer_of_parameter(weight)) + "/" +
         std::string(graph_of<M>.parameters[weight].name.view()) + ":0";
}

/// The paths of all weights, in Keras's order.
template <class M>
[[nodiscard]] std::vector<std::string> weight_paths() {
  std::vector<std::string> paths;
  for (int const weight : stagecraft::detail::weight_order<M>) paths.push_back(weight_path<M>(weight));
  return paths;
}

/// Without Keras's ":0".
[[nodiscard]] inline std::string_view without_number(std::string_view path) {
  return path.ends_with(":0") ? path.substr(0, path.size() - 2) : path;
}
/// "encoder/dense" of "encoder/dense/kernel:0".
[[nodiscard]] inline std::string_view layer_of_path(std::string_view path) { return path.substr(0, path.rfind('/')); }

}  // namespace stagecraft::io
