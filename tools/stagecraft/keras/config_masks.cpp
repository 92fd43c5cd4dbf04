// SPDX-License-Identifier: BSD-3-Clause
#include "keras/config_masks.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

using nlohmann::json;
using tensor = std::pair<std::string, std::string>;  ///< a layer, and the numbers of its call and output

tensor tensor_of(json const& value) {
  if (!value.is_object() || value.value("class_name", json()) != "__keras_tensor__" || !value.contains("config") ||
      !value["config"].is_object())
    return {};
  auto const history = value["config"].value("keras_history", json());
  if (!history.is_array() || history.size() != 3 || !history[0].is_string()) return {};
  return {history[0].get<std::string>(), history[1].dump() + "," + history[2].dump()};
}

void collect(json const& value, std::vector<tensor>& to, int depth) {
  constexpr int deepest = 8;
  if (auto const found = tensor_of(value); !found.first.empty())
    to.push_back(found);
  else if (value.is_array() && depth < deepest)
    for (auto const& each : value) collect(each, to, depth + 1);
}

/// The calls of a layer in the form of Keras 3.
std::vector<json*> calls_of(json& layer) {
  std::vector<json*> calls;
  if (layer.is_object() && layer.contains("inbound_nodes") && layer["inbound_nodes"].is_array())
    for (auto& call : layer["inbound_nodes"])
      if (call.is_object() && call.contains("args") && call.contains("kwargs") && call["kwargs"].is_object())
        calls.push_back(&call);
  return calls;
}

std::string text_in(json const& layer, char const* key) {
  return layer.is_object() && layer.contains(key) && layer[key].is_string() ? layer[key].get<std::string>() : "";
}

bool makes_masks(json const& layer) {
  return text_in(layer, "class_name") == "Embedding" && layer.contains("config") && layer["config"].is_object() &&
         layer["config"].value("mask_zero", json()) == true;
}

/// Finds the input of the embeddings that a layer's inputs come from.
class masked_tensors {
 public:
  explicit masked_tensors(json& layers) {
    for (auto& layer : layers) {
      auto const name = text_in(layer, "name");
      for (auto* const call : calls_of(layer)) {
        std::vector<tensor> inputs;
        collect((*call)["args"], inputs, 0);
        for (auto const& each : inputs) {
          if (makes_masks(layer)) found_[name].add({each});
          after_[each.first].insert(name);
        }
      }
    }
    // The result of a layer is passed to the layers after it until nothing changes, since the file may have any order.
    std::vector<std::string> changed;
    for (auto const& [name, own] : found_) changed.push_back(name);
    while (!changed.empty()) {
      auto const name = std::move(changed.back());
      changed.pop_back();
      auto const own = found_[name];
      for (auto const& each : after_[name])
        if (found_[each].add(own)) changed.push_back(each);
    }
  }

  [[nodiscard]] bool are_only(tensor const& masked, std::vector<tensor> const& inputs) const {
    origin all;
    for (auto const& input : inputs)
      if (auto const found = found_.find(input.first); found != found_.end()) all.add(found->second);
    return all.only == masked && !all.are_several;
  }

 private:
  /// No tensor, one tensor, or several, which are not distinguished.
  struct origin {
    std::optional<tensor> only{};
    bool are_several = false;

    /// Adds another origin; returns true if that changes this one.
    bool add(origin const& other) {
      auto const before = are_several;
      bool const is_first = !only && other.only;
      if (is_first) only = other.only;
      are_several = are_several || other.are_several || (other.only && only != other.only);
      return is_first || are_several != before;
    }
  };

  std::map<std::string, origin> found_;
  std::map<std::string, std::set<std::string>> after_;
};

}  // namespace

json without_implied_masks(json layers) {
  std::map<std::string, tensor> masks;  // the name of a NotEqual, and what it compares with 0
  for (auto& layer : layers) {
    auto const calls = calls_of(layer);
    if (text_in(layer, "class_name") != "NotEqual" || calls.size() != 1) continue;
    auto const& arguments = (*calls[0])["args"];
    if (arguments.is_array() && arguments.size() == 2 && arguments[1] == 0)
      if (auto const compared = tensor_of(arguments[0]); !compared.first.empty())
        masks[text_in(layer, "name")] = compared;
  }
  if (masks.empty()) return layers;
  masked_tensors const masked(layers);
  std::set<std::string> needed;
  for (auto& layer : layers)
    for (auto* const call : calls_of(layer)) {
      std::vector<tensor> inputs, all;
      collect((*call)["args"], inputs, 0);
      auto& named = (*call)["kwargs"];
      if (auto const mask = named.find("mask"); mask != named.end()) {
        auto const found = masks.find(tensor_of(*mask).first);
        if (found != masks.end() && masked.are_only(found->second, inputs)) named.erase(mask);
      }
      collect((*call)["args"], all, 0);
      for (auto const& [key, value] : named.items()) collect(value, all, 0);
      for (auto const& each : all) needed.insert(each.first);
    }
  json left = json::array();
  for (auto& layer : layers)
    if (!masks.contains(text_in(layer, "name")) || needed.contains(text_in(layer, "name")))
      left.push_back(std::move(layer));
  return left;
}

}  // namespace stagecraft::tool
