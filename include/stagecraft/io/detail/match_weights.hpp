// SPDX-License-Identifier: BSD-3-Clause
// Names of a model's weights in files, and the comparison of a file's tensors with the model's weights by name.
#pragma once

#include <stagecraft/io/detail/config_differences.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <stagecraft/plan/layer_path.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/weight_files.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

using stagecraft::detail::path_of_layer;

/// Keras's name of a weight, "dense/kernel:0", after the names of the nested models that it is in,
/// "encoder/dense/kernel:0", so that no two weights share a name.
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

/// A path without Keras's ":0".
[[nodiscard]] inline std::string_view without_number(std::string_view path) {
  return path.ends_with(":0") ? path.substr(0, path.size() - 2) : path;
}
/// "encoder/dense" of "encoder/dense/kernel:0".
[[nodiscard]] inline std::string_view layer_of_path(std::string_view path) { return path.substr(0, path.rfind('/')); }

/// The reason why a tensor cannot become a weight; empty: it can.
[[nodiscard]] inline std::string difference_of(stored_tensor const& found, weight_array const& weight) {
  if (!is_floating(found.type)) return "has elements of type " + std::string(name(found.type)) + " in the file";
  if (std::equal(found.shape.begin(), found.shape.end(), weight.shape.begin(), weight.shape.end())) return {};
  return "has shape " + shape_text(weight.shape) + ", in the file " + shape_text(found.shape);
}

/// The names under which a file may hold weights: `paths` or, for layers that the file does not know, Keras's names
/// without nested models, if no other layer has them.
[[nodiscard]] inline std::vector<std::string> names_in_file(std::vector<weight_array> const& weights,
                                                            std::vector<std::string> paths,
                                                            std::set<std::string_view> const& layers_of_file) {
  std::set<std::string, std::less<>> layers;
  for (auto const& path : paths) layers.emplace(layer_of_path(path));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto const layer = layer_of_path(weights[i].name);
    if (!layers_of_file.contains(layer_of_path(paths[i])) && layers_of_file.contains(layer) && !layers.contains(layer))
      paths[i] = weights[i].name;
  }
  return paths;
}

/// Replaces the values of `weights`, whose names in files are `paths`, by the file's: all of them or, with by_name,
/// layer by layer. Throws file_error E5021 with all differences, before anything is changed; E5022.
inline trainers::loaded_weights match_weights(std::vector<weight_array>& weights,
                                              std::vector<std::string> const& own_paths, tensor_file const& file,
                                              std::string const& path, std::string_view model,
                                              load_weights_options const& options) {
  if (options.skip_mismatch && !options.by_name)
    refuse("E5022", path, "load_weights is given skip_mismatch without by_name, without which no weight is skipped");
  std::map<std::string_view, stored_tensor const*, std::less<>> tensors;
  std::set<std::string_view> layers_of_file, layers;
  for (auto const& tensor : file.tensors) {
    if (!tensors.emplace(without_number(tensor.name), &tensor).second)
      refuse("E5021", path, "weight '" + tensor.name + "' is there twice, with and without ':0'");
    layers_of_file.insert(layer_of_path(tensor.name));
  }
  auto const paths = names_in_file(weights, own_paths, layers_of_file);
  for (auto const& each : paths) layers.insert(layer_of_path(each));

  difference_list differences;
  std::map<std::string_view, std::vector<std::string>> of_layers;  // differences within layers that both have
  std::vector<std::pair<weight_array*, stored_tensor const*>> found;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const layer = layer_of_path(paths[i]);
    bool const in_file = layers_of_file.contains(layer);
    auto const tensor = tensors.find(without_number(paths[i]));
    std::string what = "is not in the file";
    if (tensor != tensors.end()) {
      what = difference_of(*tensor->second, weights[i]);
      found.emplace_back(&weights[i], tensor->second);
      tensors.erase(tensor);
    }
    if (what.empty() || (options.by_name && !in_file)) continue;
    what = "weight '" + paths[i] + "' " + what;
    of_layers[layer].push_back(what);
    differences.add(what);
  }
  for (auto const& [rest, tensor] : tensors) {
    auto const layer = layer_of_path(tensor->name);
    if (options.by_name && !layers.contains(layer)) continue;
    auto const what = "weight '" + tensor->name + "' of the file is not in the model";
    of_layers[layer].push_back(what);
    differences.add(what);
  }
  if (!options.skip_mismatch) differences.raise("E5021", path, model);

  trainers::loaded_weights result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    bool const has_tensor = next < found.size() && found[next].first == &weights[i];
    auto const* const tensor = has_tensor ? found[next++].second : nullptr;
    auto const layer = layer_of_path(paths[i]);
    if (tensor == nullptr || of_layers.contains(layer)) {
      if (result.skipped.empty() || result.skipped.back() != layer) result.skipped.emplace_back(layer);
      continue;
    }
    weights[i].values = to_floats(*tensor, path);
    ++result.count;
  }
  for (auto const layer : layers_of_file)
    if (!layers.contains(layer)) result.skipped.emplace_back(layer);
  if (result.count == 0 && !weights.empty())
    refuse(
        "E5021", path,
        "no layer of model '" + std::string(model) + "' has the name, and weights of the shapes, of one in the file");
  return result;
}

}  // namespace stagecraft::io
