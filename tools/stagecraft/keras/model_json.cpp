// SPDX-License-Identifier: BSD-3-Clause
#include "keras/model_json.hpp"

#include "source/written_layer.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace stagecraft::tool {

namespace {

class model_writer {
 public:
  explicit model_writer(source_model const& model) : model_(model) {
    std::map<int, int> calls;
    for (auto const& call : model.calls) node_.push_back(calls[call.layer]++);
  }

  [[nodiscard]] io::json write() const {
    io::json config{{"name", model_.name}, {"layers", io::json::array()}};
    for (std::size_t i = 0; i < model_.layers.size(); ++i) config["layers"].push_back(entry(static_cast<int>(i)));
    if (!model_.is_sequential) {
      auto inputs = io::json::array(), outputs = io::json::array();
      for (int const input : model_.inputs) inputs.push_back(reference({input, 0}));
      for (auto const& output : model_.outputs) outputs.push_back(reference(output));
      config["input_layers"] = std::move(inputs);
      config["output_layers"] = std::move(outputs);
    }
    return {{"class_name", model_.is_sequential ? "Sequential" : "Functional"}, {"config", std::move(config)}};
  }

 private:
  [[nodiscard]] io::json reference(source_tensor const& of) const {
    auto const& call = model_.calls[static_cast<std::size_t>(of.call)];
    return {model_.layer_of(call).name, node_[static_cast<std::size_t>(of.call)], of.output};
  }

  [[nodiscard]] io::json entry(int index) const {
    auto const& layer = model_.layers[static_cast<std::size_t>(index)];
    auto result = layer.nested ? model_writer(*layer.nested).write()
                               : io::json{{"class_name", layer.class_name}, {"config", config_of(index)}};
    if (model_.is_sequential) return result;
    result["name"] = layer.name;
    auto& nodes = result["inbound_nodes"] = io::json::array();
    for (auto const& call : model_.calls) {
      if (call.layer != index || layer.is_input) continue;
      auto node = io::json::array();
      for (auto const& input : call.inputs) {
        node.push_back(reference(input));
        node.back().push_back(io::json::object());
      }
      if (layer.call_options.is_object() && !node.empty())
        for (auto const& [key, value] : layer.call_options.items()) node[0][3][key] = io::json(value);
      nodes.push_back(std::move(node));
    }
    return result;
  }

  [[nodiscard]] io::json config_of(int index) const {
    auto const& layer = model_.layers[static_cast<std::size_t>(index)];
    io::json config(layer.config.is_object() ? layer.config : json::object());
    if (layer.class_name == own_class)
      for (auto const& call : model_.calls)
        if (call.layer == index) config = io::json(own_config(layer, call));
    config["name"] = layer.name;
    if (!layer.nodes.empty()) config["nodes"] = layer.nodes;
    if (layer.is_input) {
      auto sizes = io::json::array({nullptr});
      for (auto const& call : model_.calls)
        if (call.layer == index && call.outputs[0])
          for (int const length : *call.outputs[0]) sizes.push_back(length);
      config["batch_input_shape"] = std::move(sizes);
    }
    if (layer.layer) {
      config["dtype"] = name(layer.layer->dtype.value_or(dtype::float32));
      if (layer.layer->is_on_host) config["on_host"] = true;
    }
    return config;
  }

  [[nodiscard]] json own_config(model_layer const& layer, source_call const& call) const {
    auto const shape_of = [&](source_tensor const& tensor) {
      return model_.calls[static_cast<std::size_t>(tensor.call)]
          .outputs[static_cast<std::size_t>(tensor.output)]
          .value();
    };
    std::vector<shape> inputs;
    for (auto const& input : call.inputs) inputs.push_back(shape_of(input));
    return own_layer_config(layer, inputs, call.outputs[0].value());
  }

  source_model const& model_;
  std::vector<int> node_;  // for each call, its number among those of its layer
};

}  // namespace

io::json model_json(source_model const& model) { return model_writer(model).write(); }

}  // namespace stagecraft::tool
