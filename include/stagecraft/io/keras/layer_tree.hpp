// SPDX-License-Identifier: BSD-3-Clause
// The layers of a bundle's model with their weights, and their places in Keras's files: by name in Keras 2, by class
// in Keras 3.
#pragma once

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// A weight, and its places in Keras's files.
struct keras_weight {
  std::string path;  ///< "encoder/dense/kernel:0", its name in this library's files
  std::string name;  ///< its name in its layer: "kernel", or "forward_lstm/kernel" in a layer inside the layer
  bool trainable = true;
  std::string keras_2;  ///< "dense/kernel:0", or "lstm/lstm_cell/kernel:0": its name in Keras 2
  std::string keras_3;  ///< "layers/functional/layers/dense_1/vars/0": its place in Keras 3's files
};

/// A layer, or a model with its layers.
struct keras_layer {
  std::string name, class_name;
  std::string path;   ///< "encoder/dense"; empty for the whole model
  std::string group;  ///< its place in Keras 3's files: "layers/functional/layers/dense_1"
  bool is_model = false;
  std::vector<keras_weight> weights;  ///< weights of a layer; trained ones first
  std::vector<keras_layer> layers;    ///< layers of a model

  /// All weights of a model in Keras's order: layer by layer.
  void append_weights(std::vector<keras_weight const*>& to) const {
    for (auto const& each : weights) to.push_back(&each);
    for (auto const& each : layers) each.append_weights(to);
  }
};

/// "dense_1" of "Dense", as the library makes names.
[[nodiscard]] inline std::string snake_case_of(std::string_view class_name) {
  return std::string(stagecraft::detail::snake_case(class_name).view());
}

/// The attributes of Keras's objects that lead to a weight: "forward_layer/cell/" of an LSTM in a Bidirectional.
[[nodiscard]] inline std::string keras_3_scope(std::string_view class_name, std::string_view weight) {
  if (class_name == "TimeDistributed") return "layer/";
  if (class_name == "Bidirectional")
    return weight.starts_with("forward_") ? "forward_layer/cell/" : "backward_layer/cell/";
  if (class_name == "MultiHeadAttention") {
    auto const inside = weight.substr(0, weight.find('/'));
    return (inside == "attention_output" ? std::string("output") : std::string(inside)) + "_dense/";
  }
  for (std::string_view const recurrent : {"LSTM", "GRU", "SimpleRNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"})
    if (class_name == recurrent) return "cell/";
  return {};
}

/// Keras 2's name of a weight, in which the cell of a recurrent layer has a name of its own.
[[nodiscard]] inline std::string keras_2_name(keras_layer const& layer, std::string_view weight) {
  auto const begin = layer.name + "/";
  auto const slash = weight.rfind('/');
  auto const inside = slash == std::string_view::npos ? std::string() : std::string(weight.substr(0, slash + 1));
  auto const last = std::string(weight.substr(slash == std::string_view::npos ? 0 : slash + 1)) + ":0";
  for (std::string_view const recurrent : {"LSTM", "GRU", "SimpleRNN"})
    if (layer.class_name == recurrent) return begin + snake_case_of(recurrent) + "_cell/" + last;
  if (layer.class_name == "Bidirectional" && slash != std::string_view::npos) {
    auto const scope = weight.substr(0, slash);
    return begin + inside + std::string(scope.substr(scope.find('_') + 1)) + "_cell/" + last;
  }
  return begin + inside + last;
}

/// The layers of a configuration, each with its weights.
class layer_tree {
 public:
  /// `trainable` and `others` are the names of weights in this library's files, in Keras's order.
  layer_tree(json const& model, std::vector<std::string> const& trainable, std::vector<std::string> const& others) {
    for (auto const& path : trainable) all_.push_back({path, {}, true, {}, {}});
    for (auto const& path : others) all_.push_back({path, {}, false, {}, {}});
    root_ = make(model, "", "");
  }
  [[nodiscard]] keras_layer const& root() const noexcept { return root_; }

 private:
  keras_layer make(json const& entry, std::string const& outside, std::string const& group) {
    keras_layer layer;
    auto const& config = entry.at("config");
    layer.name = config.at("name").get<std::string>();
    layer.class_name = entry.at("class_name").get<std::string>();
    layer.group = group;
    auto const within = config.find("layers");
    layer.is_model = within != config.end() && within->is_array();
    if (!group.empty()) layer.path = outside + layer.name;
    if (!layer.is_model) {
      take_weights(layer);
      return layer;
    }
    std::map<std::string, int> used;
    for (auto const& each : *within) {
      auto const& options = each.at("config");
      bool const is_model = options.contains("layers") && options["layers"].is_array();
      auto const class_name = each.at("class_name").get<std::string>();
      auto name = is_model && class_name != "Sequential" ? std::string("functional") : snake_case_of(class_name);
      if (int const before = used[name]++; before > 0) name += "_" + std::to_string(before);
      layer.layers.push_back(make(each, layer.path.empty() ? "" : layer.path + "/",
                                  (group.empty() ? "" : group + "/") + "layers/" + name));
    }
    return layer;
  }

  void take_weights(keras_layer& layer) {
    std::map<std::string, int> count;
    for (auto& weight : all_) {
      if (!weight.path.starts_with(layer.path + "/")) continue;
      std::string_view name = weight.path;
      name.remove_prefix(layer.path.size() + 1);
      if (name.ends_with(":0")) name.remove_suffix(2);
      weight.name = name;
      weight.keras_2 = keras_2_name(layer, name);
      auto const place = layer.group + "/" + keras_3_scope(layer.class_name, name) + "vars/";
      weight.keras_3 = place + std::to_string(count[place]++);
      layer.weights.push_back(weight);
    }
  }

  std::vector<keras_weight> all_;
  keras_layer root_;
};

/// The versions of Keras that exported files name, whose formats they have.
inline constexpr char const *written_keras_2 = "2.15.0", *written_keras_3 = "3.0.0";

/// The layers of a bundle. Throws file_error E5030 if the bundle does not state the order of its weights.
[[nodiscard]] inline layer_tree layers_of(bundle_contents const& contents, std::string const& path) {
  if (contents.trainable_weights.empty() && contents.non_trainable_weights.empty() && !contents.tensors.tensors.empty())
    refuse("E5030", path,
           "the bundle does not say in which order its weights are, as an older release wrote it: load and save it");
  try {
    return layer_tree(contents.model, contents.trainable_weights, contents.non_trainable_weights);
  } catch (nlohmann::json::exception const& problem) {
    refuse("E5030", path, std::string("the model's description is not that of a bundle: ") + problem.what());
  }
}

/// The values of a weight.
[[nodiscard]] inline stored_tensor const& values_of(bundle_contents const& contents, keras_weight const& weight,
                                                    std::string const& path) {
  auto const* const found = contents.tensors.find(weight.path);
  if (found == nullptr) refuse("E5030", path, "the bundle has no weight '" + weight.path + "'");
  return *found;
}

}  // namespace stagecraft::io
