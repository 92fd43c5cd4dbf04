// SPDX-License-Identifier: BSD-3-Clause
// Weights of Keras's files, which has them by layer and position, under the names of a model's own weights.
#pragma once

#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// A text beside tensors whose names are "<layer>\n<name in the file>", in Keras's order.
inline constexpr char const* keras_positions = "stagecraft_keras_layers";

/// Whether a path such as "encoder/dense/kernel:0" leads through a name; its last part is the weight's.
[[nodiscard]] inline bool leads_through(std::string_view path, std::string_view name) {
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (path.substr(0, slash) == name) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

/// Gives the tensors of such a file the names of a model's weights, `paths`: those of a layer have its order. In a
/// group of Keras 2 that is a model, names tell the layers. What has no counterpart keeps a name that says where it is.
inline void name_keras_weights(tensor_file& file, std::vector<std::string> const& paths) {
  if (file.find_metadata(keras_positions) == nullptr) return;
  std::map<std::string, std::size_t> used;  // how many weights of a layer are taken
  for (auto& tensor : file.tensors) {
    auto const line = tensor.name.find('\n');
    if (line == std::string::npos) continue;
    auto const layer = tensor.name.substr(0, line) + "/", name = tensor.name.substr(line + 1);
    auto const first = name.substr(0, name.find('/'));
    // "dense/kernel:0" in the group "dense", or a weight of Keras 3, which has no name; else a layer inside the group.
    bool const is_of_layer = name.empty() || (layer == first + "/");
    auto& index = used[is_of_layer ? layer : layer + "\n" + first];
    std::string const* found = nullptr;
    std::size_t position = 0;
    for (auto const& path : paths) {
      if (!path.starts_with(layer)) continue;
      if (!is_of_layer && !leads_through(std::string_view(path).substr(layer.size()), first)) continue;
      if (position++ == index) found = &path;
    }
    tensor.name = found != nullptr ? *found : layer + (name.empty() ? std::to_string(index) : name);
    ++index;
  }
}

}  // namespace stagecraft::io
