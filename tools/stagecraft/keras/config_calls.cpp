// SPDX-License-Identifier: BSD-3-Clause
#include "keras/config_calls.hpp"

#include "keras/operator_graph.hpp"

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

/// Adds the tensors of a list, which may hold lists. Returns false if anything else is in it.
bool add_tensors(json const& value, std::vector<history>& to, int depth) {
  if (auto const* tensor = keras_tensor(value)) return to.push_back(history_of(*tensor)), true;
  if (is_history(value)) return to.push_back(history_of(value)), true;
  if (!value.is_array() || depth >= 8) return false;
  return std::all_of(value.begin(), value.end(), [&](json const& each) { return add_tensors(each, to, depth + 1); });
}

/// Adds the arguments of a call that are given by name. Tensors among them, as attention has, are inputs in the order
/// of its `call`.
void add_named(json const& named, config_call& call) {
  bool has_states = false, has_masks = false;
  for (auto const* key : {"value", "key", "attention_mask"})
    if (named.contains(key)) {
      auto const& value = named[key];
      auto const* tensor = keras_tensor(value);
      if (tensor == nullptr && is_history(value)) tensor = &value;
      if (tensor == nullptr) continue;
      call.inputs.push_back(history_of(*tensor));
      if (std::string_view(key) == "attention_mask") call.options[key] = true;
    }
  // The first states of a recurrent layer: one tensor, or a list of them.
  if (auto const given = named.find("initial_state"); given != named.end()) {
    std::vector<history> states;
    if (add_tensors(*given, states, 0) && !states.empty()) {
      call.inputs.insert(call.inputs.end(), states.begin(), states.end());
      has_states = true;
    }
  }
  // Masks that a call is given stand after all other tensors.
  if (auto const given = named.find("mask"); given != named.end()) {
    std::vector<history> masks;
    if (add_tensors(*given, masks, 0) && !masks.empty()) {
      call.inputs.insert(call.inputs.end(), masks.begin(), masks.end());
      call.options[masks_key] = masks.size();
      has_masks = true;
    }
  }
  for (auto const& [key, value] : named.items()) {
    if (call.options.contains(key) || value.is_null()) continue;
    if ((key == "value" || key == "key") && (keras_tensor(value) != nullptr || is_history(value))) continue;
    if (key == "training" && value == false) continue;
    if ((key == "initial_state" && has_states) || (key == "mask" && has_masks)) continue;
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

/// The arguments of an operation with its tensors as numbers.
json with_numbers(json const& value, config_call& call, int depth) {
  constexpr int deepest = 16;
  auto const number = [&](history const& of, json const& shape) {
    call.inputs.push_back(of);
    call.shapes.push_back(shape);
    return json{{tensor_key, call.inputs.size() - 1}};
  };
  if (auto const* tensor = keras_tensor(value)) return number(history_of(*tensor), value["config"]);
  if (is_history(value)) {
    if (value[0] == "_CONSTANT_VALUE") return value[2];
    return number(history_of(value), nullptr);
  }
  if (value.is_object() && value.contains(tensor_key)) return nullptr;  // no argument of Keras's
  if (!value.is_structured() || depth > deepest) return value;
  auto result = value;
  for (auto& each : result) each = with_numbers(json(each), call, depth + 1);
  return result;
}

}  // namespace

config_call config_calls::read_operator(json const& node, int layer, std::string const& name, json named) const {
  config_call call;
  call.layer = layer;
  call.named = std::move(named);
  call.positional = json::array();
  auto const add_arguments_by_name = [&](json const& given) {
    for (auto const& [key, value] : given.items()) call.named[key] = with_numbers(value, call, 0);
  };
  if (node.is_object()) {
    if (node.contains("args") && node["args"].is_array())
      for (auto const& each : node["args"]) call.positional.push_back(with_numbers(each, call, 0));
    if (node.contains("kwargs") && node["kwargs"].is_object()) add_arguments_by_name(node["kwargs"]);
    return call;
  }
  // Keras 2 writes the first argument, a tensor, a constant or a list of them, with the others by name beside each.
  auto const options_of = [](json const& tensor) {
    return tensor.is_array() && tensor.size() > 3 && tensor[3].is_object() ? tensor[3] : json::object();
  };
  bool const is_constant = node.is_array() && node.size() >= 3 && node[0] == "_CONSTANT_VALUE";
  if (is_history(node) || is_constant) {
    call.positional.push_back(is_constant ? node[2] : with_numbers(node, call, 0));
    add_arguments_by_name(options_of(node));
    return call;
  }
  if (!node.is_array() || node.empty()) wrong("layer '" + name + "' has calls that are no lists of tensors");
  call.positional.push_back(with_numbers(node, call, 0));
  add_arguments_by_name(options_of(node.front()));
  return call;
}

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
  json const* first = nullptr;  // Keras writes the arguments by name beside each tensor
  auto const add = [&](json const& tensor) {
    if (!is_history(tensor)) wrong("layer '" + name + "' is called with " + tensor.dump().substr(0, 80));
    if (tensor[0] == "_CONSTANT_VALUE")
      call.options["an argument that is no tensor"] = tensor[2];
    else
      call.inputs.push_back(history_of(tensor));
  };
  auto const add_arguments_of = [&](json const& tensor) {
    if (tensor.size() <= 3 || !tensor[3].is_object()) return;
    if (first == nullptr || *first != tensor[3]) add_named(tensor[3], call);
    if (first == nullptr) first = &tensor[3];
  };
  if (is_history(node)) {
    add(node);
    add_arguments_of(node);
  } else {
    for (auto const& tensor : node) add(tensor);
    for (auto const& tensor : node) add_arguments_of(tensor);
  }
  bool const is_given = call.options.contains(masks_key) && std::any_of(node.begin(), node.end(), [](auto const& each) {
                          auto const* const named = each.is_array() && each.size() > 3 ? &each[3] : &each;
                          return named->is_object() && named->contains("mask");
                        });
  if (is_given) call.options[masks_go_on_key] = true;
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
