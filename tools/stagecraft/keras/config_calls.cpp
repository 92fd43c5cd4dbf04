// SPDX-License-Identifier: BSD-3-Clause
#include "keras/config_calls.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <string_view>

namespace stagecraft::tool {

namespace {

bool is_history(json const& value) {
  return value.is_array() && value.size() >= 3 && value[0].is_string() && value[1].is_number_integer() &&
         value[2].is_number_integer();
}
history history_of(json const& value) {
  auto const number = [](json const& x) {
    return static_cast<int>(std::clamp<long long>(x.get<long long>(), -1, 1 << 20));
  };
  return {value[0].get<std::string>(), number(value[1]), number(value[2])};
}
/// The history of a tensor as Keras 3 writes it.
json const* keras_tensor(json const& value) {
  if (!value.is_object() || value.value("class_name", "") != "__keras_tensor__" || !value.contains("config"))
    return nullptr;
  auto const& config = value["config"];
  return config.is_object() && config.contains("keras_history") && is_history(config["keras_history"])
             ? &config["keras_history"]
             : nullptr;
}

/// Adds the arguments of a call that are given by name. Tensors among them, as attention has, are inputs in the order
/// of its `call`.
void add_named(json const& named, config_call& call) {
  for (auto const* key : {"value", "key", "attention_mask"})
    if (named.contains(key)) {
      auto const& value = named[key];
      auto const* tensor = keras_tensor(value);
      if (tensor == nullptr && is_history(value)) tensor = &value;
      if (tensor == nullptr) continue;
      call.inputs.push_back(history_of(*tensor));
      if (std::string_view(key) == "attention_mask") call.options[key] = true;
    }
  for (auto const& [key, value] : named.items()) {
    if (call.options.contains(key) || value.is_null()) continue;
    if ((key == "value" || key == "key") && (keras_tensor(value) != nullptr || is_history(value))) continue;
    if (key == "training" && value == false) continue;
    call.options[key] = value;
  }
}

void add_arguments(json const& value, config_call& call, int depth) {
  if (auto const* tensor = keras_tensor(value))
    call.inputs.push_back(history_of(*tensor));
  else if (value.is_array() && depth < 8)
    for (auto const& each : value) add_arguments(each, call, depth + 1);
  else if (!value.is_null())
    call.options["an argument that is no tensor"] = value;
}

}  // namespace

void config_calls::wrong(std::string const& what) const { throw file_error("E5063", file_ + ": " + what); }

config_call config_calls::read_node(json const& node, int layer, std::string const& name) const {
  config_call call;
  call.layer = layer;
  if (node.is_object()) {
    if (node.contains("args")) add_arguments(node["args"], call, 0);
    if (node.contains("kwargs") && node["kwargs"].is_object()) add_named(node["kwargs"], call);
    return call;
  }
  if (!node.is_array()) wrong("layer '" + name + "' has calls that are no lists of tensors");
  auto const add = [&](json const& tensor) {
    if (!is_history(tensor)) wrong("layer '" + name + "' is called with " + tensor.dump().substr(0, 80));
    if (tensor[0] == "_CONSTANT_VALUE")
      call.options["an argument that is no tensor"] = tensor[2];
    else
      call.inputs.push_back(history_of(tensor));
    if (tensor.size() > 3 && tensor[3].is_object()) add_named(tensor[3], call);
  };
  if (is_history(node))
    add(node);
  else
    for (auto const& tensor : node) add(tensor);
  return call;
}

std::vector<history> config_calls::read_ends(json const& content, char const* key, std::string const& model) const {
  if (!content.contains(key)) wrong("model '" + model + "' has no '" + key + "'");
  std::vector<history> result;
  auto const add = [&](auto const& self, json const& value, int depth) -> void {
    if (is_history(value))
      result.push_back(history_of(value));
    else if (value.is_array() && depth < 4)
      for (auto const& each : value) self(self, each, depth + 1);
    else
      wrong("model '" + model + "' has '" + key + "' that are no list of tensors");
  };
  add(add, content[key], 0);
  if (result.empty()) wrong("model '" + model + "' has no '" + key + "'");
  return result;
}

}  // namespace stagecraft::tool
