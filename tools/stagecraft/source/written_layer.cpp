// SPDX-License-Identifier: BSD-3-Clause
#include "source/written_layer.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft::tool {

namespace {

json lengths_of(shape const& of) {
  json result = json::array();
  for (int const length : of) result.push_back(length);
  return result;
}

shape shape_of(json const& lengths) {
  shape result;
  if (!lengths.is_array() || lengths.size() > shape::max_rank) throw unsupported("has a shape that is none");
  for (auto const& each : lengths) {
    bool const is_length = each.is_number_integer() && each >= 1 && each <= (1 << 30);
    if (!is_length) throw unsupported("has a shape that is none");
    result.push_back(each.get<int>());
  }
  return result;
}

class layer_in_header : public source_layer {
 public:
  explicit layer_in_header(json const& config) {
    if (!config.is_object() || !config.contains("inputs") || !config["inputs"].is_array() ||
        !config.contains("output") || !config.contains("weights") || !config["weights"].is_array())
      throw unsupported("does not state its shapes");
    for (auto const& each : config["inputs"]) inputs_.push_back(shape_of(each));
    rules_.output = shape_of(config["output"]);
    for (auto const& each : config["weights"]) {
      if (!each.is_object() || !each.contains("name") || !each["name"].is_string() || !each.contains("shape"))
        throw unsupported("has a weight without a name or a shape");
      expected_weight weight{each["name"].get<std::string>(), {}, false};
      for (int const length : shape_of(each["shape"])) weight.shape.push_back(length);
      rules_.weights.push_back(std::move(weight));
    }
    default_name = "operations";
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const&) const override {
    if (!std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end()))
      throw unsupported("is called with other shapes");
    return rules_;
  }

 private:
  std::vector<shape> inputs_;
  layer_rules rules_;
};

}  // namespace

json own_layer_config(model_layer const& layer, std::vector<shape> const& inputs, shape const& output) {
  json result{{"inputs", json::array()}, {"output", lengths_of(output)}, {"weights", json::array()}};
  for (auto const& each : inputs) result["inputs"].push_back(lengths_of(each));
  for (auto const& weight : layer.weights)
    result["weights"].push_back({{"name", weight.name}, {"shape", weight.shape}});
  return result;
}

std::unique_ptr<source_layer> written_layer(json const& config) { return std::make_unique<layer_in_header>(config); }

bool has_own_layers(source_model const& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](model_layer const& each) {
    return each.class_name == own_class || (each.nested && has_own_layers(*each.nested));
  });
}

}  // namespace stagecraft::tool
