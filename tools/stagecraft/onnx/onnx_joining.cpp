// SPDX-License-Identifier: BSD-3-Clause
// Joins traced layers: factors and summands, biases, last steps of sequences, activations. Names of nodes stay with the
// layers that they become part of.
#include "onnx/onnx_trace.hpp"

#include <algorithm>

namespace stagecraft::tool {

/// Names the nodes that the layers from `first` on were made of.
void onnx_trace::name_origin(onnx_node const& node, std::size_t first) {
  set_halves(node, first);
  for (; first < layers_.size(); ++first) {
    auto& names = layers_[first].nodes;
    layers_[first].group = group_of(node);
    if (!node.name.empty()) names.push_back(node.name);
    names.insert(names.end(), node.joined_names.begin(), node.joined_names.end());
    names.insert(names.end(), joined_names_.begin(), joined_names_.end());
  }
}

std::map<std::string, std::vector<std::string>> onnx_trace::nodes_of_layers() const {
  std::map<std::string, std::vector<std::string>> result;
  for (auto const& each : layers_) {
    auto& names = result[each.name];
    for (auto const& name : each.nodes)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return result;
}

/// Turns summands after a layer without a bias into its bias.
void onnx_trace::take_bias(std::vector<int>& instead) {
  static std::set<std::string> const all{"Conv1D",          "Conv2D",          "Conv3D", "Conv1DTranspose",
                                         "Conv2DTranspose", "Conv3DTranspose", "Dense"};
  auto const used = uses();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto const& each = layers_[i];
    if (!each.is_affine) continue;
    auto& before = layers_[static_cast<std::size_t>(each.inputs[0])];
    bool const is_sum = std::all_of(each.factors.begin(), each.factors.end(), [](float x) { return x == 1; });
    if (!is_sum || !all.contains(before.class_name) || used[static_cast<std::size_t>(each.inputs[0])] != 1 ||
        before.config.value("use_bias", json(true)) != false || before.config.contains("activation") ||
        before.config.contains("input_bytes") || before.group != each.group || before.half != each.half ||
        before.lengths.empty())
      continue;
    auto const units = static_cast<std::size_t>(before.lengths.back());
    auto summands = each.summands;
    if (summands.size() == 1) summands.assign(units, summands[0]);
    if (summands.size() != units) continue;
    before.config.erase("use_bias");
    before.weights.push_back({"bias", {static_cast<std::int64_t>(units)}, std::move(summands)});
    before.nodes.insert(before.nodes.end(), each.nodes.begin(), each.nodes.end());
    instead[i] = each.inputs[0];
    layers_[i].inputs.clear();  // nobody reads it any more
    layers_[i].is_affine = false;
  }
}

/// Joins successive factors and summands, which become a Rescaling or a BatchNormalization.
void onnx_trace::finish_affine() {
  auto const used = uses();
  for (auto& each : layers_) {
    if (!each.is_affine) continue;
    auto const& before = layers_[static_cast<std::size_t>(each.inputs[0])];
    if (before.is_affine && used[static_cast<std::size_t>(each.inputs[0])] == 1 && before.group == each.group &&
        before.half == each.half) {
      auto const size = std::max(each.factors.size(), before.factors.size());
      std::vector<float> factors(size), summands(size);
      auto const at = [](std::vector<float> const& list, std::size_t i) {
        return list.size() == 1 ? list[0] : list[i];
      };
      for (std::size_t i = 0; i < size; ++i) {
        factors[i] = at(before.factors, i) * at(each.factors, i);
        summands[i] = at(before.summands, i) * at(each.factors, i) + at(each.summands, i);
      }
      each.factors = factors, each.summands = summands;
      each.inputs = before.inputs;
      each.nodes.insert(each.nodes.begin(), before.nodes.begin(), before.nodes.end());
    }
  }
  auto instead = each_itself();
  take_bias(instead);
  replace(instead);
  for (auto& each : layers_) {
    if (!each.is_affine) continue;
    auto const alike = [](std::vector<float> const& list) {
      return std::all_of(list.begin(), list.end(), [&](float x) { return x == list[0]; });
    };
    if (alike(each.factors) && alike(each.summands)) {
      each.class_name = "Rescaling";
      each.config = {{"scale", each.factors[0]}, {"offset", each.summands[0]}};
      continue;
    }
    auto const size = static_cast<std::int64_t>(each.factors.size());
    each.class_name = "BatchNormalization";
    each.config = {{"epsilon", 0.0}};
    each.weights = {{"gamma", {size}, each.factors},
                    {"beta", {size}, each.summands},
                    {"moving_mean", {size}, std::vector<float>(each.factors.size(), 0.0F)},
                    {"moving_variance", {size}, std::vector<float>(each.factors.size(), 1.0F)}};
  }
}

/// Lets recurrent layers of which only the last step is used return only that one.
void onnx_trace::shorten_sequences() {
  auto const used = uses();
  auto instead = each_itself();
  for (auto& last : layers_) {
    if (!last.config.contains("of the last step")) continue;
    last.config.erase("of the last step");
    int const cropping = last.inputs[0];
    auto& cropped = layers_[static_cast<std::size_t>(cropping)];
    int const recurrent = cropped.inputs[0];
    auto& from = layers_[static_cast<std::size_t>(recurrent)];
    if (!from.config.contains("return_sequences") || used[static_cast<std::size_t>(recurrent)] != 1 ||
        used[static_cast<std::size_t>(cropping)] != 1)
      continue;
    from.config["return_sequences"] = false;
    from.lengths = last.lengths;
    instead[static_cast<std::size_t>(&last - layers_.data())] = recurrent;
  }
  replace(instead);
}

/// Turns an activation after a layer without one into that layer's option.
void onnx_trace::fuse_activations() {
  static std::set<std::string> const fusing{"Dense",  "Conv1D",          "Conv2D",
                                            "Conv3D", "Conv2DTranspose", "DepthwiseConv2D"};
  auto const used = uses();
  auto instead = each_itself();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto const& each = layers_[i];
    if (each.class_name != "Activation") continue;
    int const into = each.inputs[0];
    auto& before = layers_[static_cast<std::size_t>(into)];
    if (!fusing.contains(before.class_name) || before.config.contains("activation") ||
        used[static_cast<std::size_t>(into)] != 1 || before.group != each.group || before.half != each.half)
      continue;
    before.config["activation"] = each.config["activation"];
    before.nodes.insert(before.nodes.end(), each.nodes.begin(), each.nodes.end());
    instead[i] = into;
  }
  replace(instead);
}

}  // namespace stagecraft::tool
