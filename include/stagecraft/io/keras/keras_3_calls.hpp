// SPDX-License-Identifier: BSD-3-Clause
// The calls of layers in a functional model's configuration: Keras 2's lists as the objects of Keras 3.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/model_config.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace stagecraft::io {

/// Knows the tensors of a model by their layers.
class keras_3_calls {
 public:
  /// `layers` are the entries of the model's layers, with the shapes of their outputs.
  explicit keras_3_calls(json const& layers) {
    for (auto const& each : layers) {
      auto const name = each.at("config").value("name", "");
      auto const shapes = each.find(output_shapes_key);
      if (shapes != each.end())
        shapes_[name] = *shapes;
      else if (each["config"].contains("batch_input_shape"))
        shapes_[name] = json::array({json::array({each["config"]["batch_input_shape"]})});
      auto const& config = each["config"];
      // In Keras 2, a model has a node of its own in front of those of its calls.
      first_node_[name] = config.contains("layers") && has_own_node(each) ? 1 : 0;
    }
  }

  /// [[name, node, output], ...]: the model's inputs or outputs.
  [[nodiscard]] json write_ends(json ends) const {
    for (auto& end : ends) end[1] = call_of(end.at(0).get<std::string>(), end.at(1).get<int>());
    return ends;
  }

  /// The calls of a layer.
  [[nodiscard]] json write(json const& nodes) const {
    auto result = json::array();
    for (auto const& node : nodes) {
      auto inputs = json::array();
      auto keywords = json::object();
      for (auto const& input : node) {
        inputs.push_back(tensor(input));
        if (input.size() > 3) keywords.update(input[3]);
      }
      for (auto& [key, value] : keywords.items())
        if (value.is_array() && value.size() == 3 && value[0].is_string()) value = tensor(value);
      json const given = inputs.size() == 1 ? inputs[0] : inputs;
      result.push_back({{"args", json::array({given})}, {"kwargs", std::move(keywords)}});
    }
    return result;
  }

 private:
  /// Of sequential ones those that begin with an input.
  static bool has_own_node(json const& entry) {
    auto const& layers = entry["config"]["layers"];
    return entry.at("class_name") != "Sequential" || (!layers.empty() && layers[0].at("class_name") == "InputLayer");
  }

  [[nodiscard]] json tensor(json const& from) const {
    auto const name = from.at(0).get<std::string>();
    auto const node = from.at(1).get<int>(), output = from.at(2).get<int>();
    auto const call = call_of(name, node);
    auto const shapes = shapes_.find(name);
    if (shapes == shapes_.end() || call < 0) throw_no_tensor(name);
    auto const& shape = shapes->second.at(static_cast<std::size_t>(call)).at(static_cast<std::size_t>(output));
    return {{"class_name", "__keras_tensor__"},
            {"config", {{"shape", shape}, {"dtype", "float32"}, {"keras_history", json::array({name, call, output})}}}};
  }
  [[nodiscard]] int call_of(std::string const& name, int node) const {
    auto const first = first_node_.find(name);
    return node - (first == first_node_.end() ? 0 : first->second);
  }
  [[noreturn]] static void throw_no_tensor(std::string const& name) {
    refuse("E5030", "model.json", "a call takes an output of '" + name + "', which has none");
  }

  std::map<std::string, json> shapes_;
  std::map<std::string, int> first_node_;
};

}  // namespace stagecraft::io
