// SPDX-License-Identifier: BSD-3-Clause
// A model as Keras 2 describes it in JSON: classes and options of the layers, and the inputs of each call.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/layers/option_list.hpp>
#include <stagecraft/models/queries.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Keras's key of a member. Some members have other names here, since a C++ member cannot be named as its class.
[[nodiscard]] inline std::string keras_key(std::string_view class_name, std::string_view member) {
  if (member == "function") return "activation";
  if (member == "target") return "target_shape";
  if (member == "amount") return class_name == "GaussianNoise" ? "stddev" : "rate";
  return std::string(member);
}

/// Adjusts a layer's configuration to Keras's: None for values that mean it, no keys that Keras lacks, no arguments of
/// the call.
inline void as_keras_has_it(std::string_view class_name, json& config) {
  auto const none_if = [&](char const* key, json const& value) {
    if (auto const found = config.find(key); found != config.end() && *found == value) *found = nullptr;
  };
  if (config.contains("seed")) none_if("seed", 0);
  if (class_name == "ReLU") none_if("max_value", -1.0);
  if (auto const noise = config.find("noise_shape"); noise != config.end()) {
    if (noise->empty())
      *noise = nullptr;
    else
      noise->insert(noise->begin(), nullptr);  // the axis of the samples
  }
  if (class_name == "Discretization") none_if("num_bins", 0);
  if (class_name == "Normalization")
    for (char const* const key : {"mean", "variance"}) none_if(key, json::array());
  for (char const* const key : {"options", "options_bwd"}) config.erase(key);  // options of IPUs for planning products
  if (class_name == "Bidirectional") none_if("merge_mode", "none");
  if (class_name == "EinsumDense") {
    none_if("bias_axes", "");
    for (auto& length : config["output_shape"])
      if (length == -1) length = nullptr;
  }
  if (class_name == "MultiHeadAttention") {
    none_if("value_dim", 0);
    none_if("output_shape", 0);
    for (auto& axis : config["attention_axes"])
      if (axis < 0) axis = axis.get<int>() - 1;  // counted from the end, Keras's axes include that of the heads
    if (config["attention_axes"].is_null()) config.erase("attention_axes");
  }
  none_if("output_padding", -1);
  none_if("output_padding", json::array({-1, -1}));
  none_if("output_padding", json::array({-1, -1, -1}));
  if (config.value("serialization_factor", 0) == 1) config.erase("serialization_factor");
  if (!config.value("strided_channel_grouping", true)) config.erase("strided_channel_grouping");
  // Keras's recurrent layers alone have it; others have it where they cannot do without.
  if (!config.contains("return_sequences") && !config.value("stateful", false)) config.erase("stateful");
  if (config.value("kept_steps", 0) == 0) config.erase("kept_steps");
  if (auto const found = config.find("input_bytes"); found != config.end() && found->is_null()) config.erase(found);
  for (char const* const key : {"use_causal_mask", "attention_mask", "return_attention_scores"})
    if (config.contains(key) && config[key] == false) config.erase(key);
}

/// The options of a layer, without its name.
template <class L>
[[nodiscard]] json layer_options(L const& layer) {
  auto config = json::object();
  for_each_option(layer, [&](std::string_view name, auto const& value) {
    if (name != "name" && name != "trainable") config[keras_key(L::class_name, name)] = json_of(value);
  });
  as_keras_has_it(L::class_name, config);
  auto const inside = [](auto const& wrapped) {
    using inside_type = std::remove_cvref_t<decltype(wrapped)>;
    auto options = layer_options(wrapped);
    auto own = json::object();
    own["name"] =
        std::string(wrapped.layer_name.empty() ? stagecraft::detail::snake_case(inside_type::class_name).view()
                                               : wrapped.layer_name.view());
    own["trainable"] = wrapped.trainable;
    own.update(options);
    return json_of_class(inside_type::class_name, std::move(own));
  };
  if constexpr (requires { layer.wrapped(); }) config["layer"] = inside(layer.wrapped());
  if constexpr (requires { layer.has_backward_layer; })
    if (layer.has_backward_layer) config["backward_layer"] = inside(layer.backward);
  return config;
}

/// The key of an entry's outputs: for each call of a layer the shapes of its tensors. Newer Keras expects them, older
/// Keras does not write them.
inline constexpr char const* output_shapes_key = "output_shapes";

/// Writes the models of a graph. `options` has those of each layer.
class model_writer {
 public:
  model_writer(tracing::graph_view const& graph, std::vector<json> const& options)
      : graph_(graph),
        options_(options),
        records_{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs} {}

  /// {"class_name", "config"} of a model; 0 is the outermost one.
  [[nodiscard]] json write(int model) const {
    auto const& info = graph_.nested_models[model];
    json config{{"name", std::string(info.name.view())}, {"layers", json::array()}};
    bool const is_sequential = info.kind == tracing::model_kind::sequential;
    auto& layers = config["layers"];
    if (is_sequential && model == 0) layers.push_back(layer_entry(graph_.order.empty() ? 0 : first_input(), false));
    if (is_sequential && model > 0 && has_own_input(model))
      layers.push_back(nested_input_entry(model, graph_.nested_inputs_of(model)[0]));
    auto input_layers = json::array(), output_layers = json::array();
    auto const add_input = [&](json entry) {
      input_layers.push_back({entry["config"]["name"], 0, 0});
      entry["name"] = entry["config"]["name"];
      entry["inbound_nodes"] = json::array();
      layers.push_back(std::move(entry));
    };
    if (!is_sequential && model > 0)
      for (auto const& input : graph_.nested_inputs_of(model))
        if (input.call >= 0) add_input(nested_input_entry(model, input));
    for (int const node : nodes_of(model)) {
      if (node >= 0 && graph_.call(node).is_input) {
        if (!is_sequential) add_input(layer_entry(node, false));
      } else {
        layers.push_back(node >= 0 ? layer_entry(node, !is_sequential) : model_entry(-1 - node, !is_sequential));
      }
    }
    if (!is_sequential) {
      // The order of `predict` is the order of the code, which differs from Keras's order of layers.
      if (model == 0) {
        input_layers = json::array();
        for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i)
          if (graph_.call(i).is_input) input_layers.push_back({layer_entry(i, false)["config"]["name"], 0, 0});
      }
      for (int const output : graph_.outputs_of(model)) output_layers.push_back(reference(model, output));
      config["input_layers"] = std::move(input_layers);
      config["output_layers"] = std::move(output_layers);
    }
    return json_of_class(info.class_name, std::move(config));
  }

  /// The nodes of a model's own level in the order of Keras's `model.layers`: a call's number, or -1 - the number of a
  /// nested model.
  [[nodiscard]] std::vector<int> nodes_of(int model) const {
    std::vector<int> nodes;
    if (graph_.nested_models[model].kind == tracing::model_kind::functional) {
      for (int const node : stagecraft::detail::post_order(records_).layers(model)) nodes.push_back(node);
      return nodes;
    }
    std::vector<int> seen;
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      int const child = stagecraft::detail::post_order::child_holding(records_, i, model);
      if (child < 0 || graph_.call(i).is_part()) continue;  // parts of outputs and penalties are no nodes of their own
      int const key = child != model ? -1 - graph_.nested_models[child].instance : graph_.call(i).layer;
      bool known = false;
      for (int const other : seen) known = known || other == key;
      if (known) continue;
      seen.push_back(key);
      nodes.push_back(child != model ? -1 - child : i);
    }
    return nodes;
  }

 private:
  [[nodiscard]] bool has_own_input(int model) const {
    if (graph_.nested_models[model].kind != tracing::model_kind::sequential) return true;
    auto const inputs = graph_.nested_inputs_of(model);
    return !inputs.empty() && !inputs[0].name.empty();
  }
  [[nodiscard]] int first_input() const {
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i)
      if (graph_.call(i).is_input) return i;
    return 0;
  }

  [[nodiscard]] json input_config(std::string const& name, tracing::call_info const& call) const {
    return json_of_class("InputLayer", {{"batch_input_shape", dimensions_of(call.shape)},
                                        {"dtype", std::string(stagecraft::name(call.type))},
                                        {"sparse", false},
                                        {"ragged", false},
                                        {"name", name}});
  }
  [[nodiscard]] json nested_input_entry(int model, tracing::nested_input_info const& input) const {
    auto const name = input.name.empty() ? std::string(graph_.nested_models[model].name.view()) + "_input"
                                         : std::string(input.name.view());
    return input_config(name, graph_.call(input.call));
  }

  [[nodiscard]] json layer_entry(int call, bool has_nodes) const {
    auto const& info = graph_.call(call);
    auto const& layer = graph_.layer(info.layer);
    std::string const name(layer.name.view());
    if (info.is_input) return input_config(name, info);
    bool trainable = true;
    for (auto const& weight : graph_.parameters_of(info.layer)) trainable = trainable && !weight.frozen;
    json config{
        {"name", name}, {"trainable", trainable}, {"dtype", std::string(stagecraft::name(layer.type_of_values))}};
    config.update(options_[static_cast<std::size_t>(info.layer)]);
    if (layer.is_on_host) config["on_host"] = true;
    auto const keywords = take_call_options(config);
    bool const attends = layer.class_name == "MultiHeadAttention";
    if (attends) add_attention_shapes(call, config);
    auto entry = json_of_class(layer.class_name, std::move(config));
    if (!has_nodes) return entry;
    entry["name"] = name;
    auto& nodes = entry["inbound_nodes"] = json::array();
    auto shapes = json::array();
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      auto const& other = graph_.call(i);
      if (other.layer != info.layer || other.nested_model != info.nested_model || other.is_part()) continue;
      auto node = json::array();
      for (int const input : graph_.own_inputs_of(i)) node.push_back(connection(info.nested_model, input));
      if (attends) node = as_keywords(node);
      if (!keywords.empty() && !node.empty()) node[0][3].update(keywords);
      nodes.push_back(std::move(node));
      auto outputs = json::array();
      for (auto const& shape : graph_.shapes_of_outputs(i)) outputs.push_back(dimensions_of(shape));
      shapes.push_back(std::move(outputs));
    }
    entry[output_shapes_key] = std::move(shapes);
    return entry;
  }

  [[nodiscard]] json dimensions_of(shape const& shape) const {
    auto dimensions = json::array({graph_.batch_size() > 0 ? json(graph_.batch_size()) : json()});
    for (int const each : shape) dimensions.push_back(each);
    return dimensions;
  }
  /// Moves the options that Keras takes in a call, rather than when the layer is made, out of the configuration.
  static json take_call_options(json& config) {
    auto keywords = json::object();
    for (char const* const key : {"use_causal_mask", "return_attention_scores", "attention_mask"})
      if (auto const found = config.find(key); found != config.end()) {
        if (std::string_view(key) != "attention_mask") keywords[key] = *found;  // the mask itself is a tensor
        config.erase(key);
      }
    return keywords;
  }

  /// Adds the shapes from which Keras's layer makes its weights.
  void add_attention_shapes(int call, json& config) const {
    auto const inputs = graph_.own_inputs_of(call);
    auto const shape_of = [&](std::size_t input) {
      auto dimensions = json::array({nullptr});
      for (int const each : graph_.call(inputs[input < inputs.size() ? input : inputs.size() - 1]).shape)
        dimensions.push_back(each);
      return dimensions;
    };
    config["query_shape"] = shape_of(0);
    config["key_shape"] = shape_of(inputs.size() > 2 ? 2 : 1);
    config["value_shape"] = shape_of(1);
  }
  /// Names all but the first argument: Keras's call of that layer takes `value`, `key` and `attention_mask` by keyword.
  [[nodiscard]] static json as_keywords(json const& node) {
    constexpr char const* names[]{"query", "value", "key", "attention_mask"};
    auto first = node[0];
    for (std::size_t i = 1; i < node.size() && i < std::size(names); ++i)
      first[3][names[i]] = json::array({node[i][0], node[i][1], node[i][2]});
    return json::array({std::move(first)});
  }

  [[nodiscard]] json model_entry(int model, bool has_nodes) const {
    auto entry = write(model);
    if (!has_nodes) return entry;
    auto const& info = graph_.nested_models[model];
    entry["name"] = std::string(info.name.view());
    auto& nodes = entry["inbound_nodes"] = json::array();
    auto shapes = json::array();
    for (int other = model; other < static_cast<int>(graph_.nested_models.size()); ++other) {
      auto const& nested = graph_.nested_models[other];
      if (nested.instance != info.instance || nested.parent != info.parent) continue;
      auto node = json::array();
      for (auto const& input : graph_.nested_inputs_of(other))
        if (input.call >= 0) node.push_back(connection(info.parent, input.call));
      nodes.push_back(std::move(node));
      auto outputs = json::array();
      for (int const output : graph_.outputs_of(other)) outputs.push_back(dimensions_of(graph_.call(output).shape));
      shapes.push_back(std::move(outputs));
    }
    entry[output_shapes_key] = std::move(shapes);
    return entry;
  }

  /// A tensor as a model refers to it: [name, node_index, tensor_index].
  [[nodiscard]] json reference(int model, int call) const {
    int const child = stagecraft::detail::post_order::child_holding(records_, call, model);
    if (child == model) {
      int const producer = graph_.producer(call), tensor = std::max(graph_.call(call).output_index, 0);
      int node = 0;
      for (int before = 0; before < producer; ++before) {
        auto const& other = graph_.call(before);
        if (other.layer == graph_.call(producer).layer && other.nested_model == model && !other.is_part()) ++node;
      }
      return {std::string(graph_.layer_of(producer).name.view()), node, tensor};
    }
    if (child >= 0) {
      auto const outputs = graph_.outputs_of(child);
      int tensor = 0;
      while (tensor < static_cast<int>(outputs.size()) && outputs[static_cast<std::size_t>(tensor)] != call) ++tensor;
      // Keras counts one node more for models that begin with an input: the node of their making.
      int const node = graph_.nested_models[child].node_index + (has_own_input(child) ? 1 : 0);
      return {std::string(graph_.nested_models[child].name.view()), node, tensor};
    }
    for (auto const& input : graph_.nested_inputs_of(model))
      if (input.call == call) return {nested_input_entry(model, input)["config"]["name"], 0, 0};
    return {std::string(graph_.layer_of(call).name.view()), 0, 0};
  }
  [[nodiscard]] json connection(int model, int call) const {
    auto result = reference(model, call);
    result.push_back(json::object());
    return result;
  }

  tracing::graph_view const& graph_;
  std::vector<json> const& options_;
  stagecraft::detail::graph_records records_;
};

/// The options of all layers of a model.
template <class M>
[[nodiscard]] std::vector<json> options_of_layers() {
  constexpr auto layers = graph_of<M>.layers.size();
  std::vector<json> options(layers);
  detail::for_each_index<layers>([&]<int Layer>() {
    constexpr int call = graph_of<M>.layer(Layer).first_call;
    if constexpr (!graph_of<M>.call(call).is_input) options[Layer] = layer_options(layer_of<M, call>);
  });
  return options;
}

/// The content of Keras's `model.to_json()`.
template <class M>
[[nodiscard]] json model_config() {
  auto const options = options_of_layers<M>();
  return model_writer(graph_of<M>, options).write(0);
}

}  // namespace stagecraft::io
