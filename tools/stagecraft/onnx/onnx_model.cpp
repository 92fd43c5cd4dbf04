// SPDX-License-Identifier: BSD-3-Clause
// Turns an ONNX graph into Keras's configuration of a model, and into the model.
#include "attention_nodes.hpp"
#include "keras/option_values.hpp"
#include "onnx/operator_table.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <filesystem>
#include <numeric>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

constexpr std::int64_t first_opset = 7, last_opset = 28;

}  // namespace

std::map<std::string, onnx_converter> const& onnx_converters() {
  static auto const all = [] {
    std::map<std::string, onnx_converter> result;
    add_elementwise_converters(result);
    add_shape_converters(result);
    add_part_converters(result);
    add_product_converters(result);
    add_window_converters(result);
    add_recurrent_converters(result);
    add_operation_converters(result);
    add_activation_operations(result);
    add_part_operations(result);
    add_axis_converters(result);
    add_composed_converters(result);
    add_recurrent_operations(result);
    add_index_operations(result);
    add_control_converters(result);
    add_microsoft_converters(result);
    add_made_converters(result);
    return result;
  }();
  return all;
}

void onnx_trace::convert(onnx_node const& node) {
  auto const fail = [&](std::string const& why) {
    for (auto const& each : node.outputs)
      if (!each.empty()) unknown_.insert(each);
    if (!why.empty())
      problems_.push_back((node.name.empty() ? std::string("a node") : "node '" + shown_name(node.name) + "'") + " (" +
                          (node.domain.empty() ? "" : shown_name(node.domain) + ".") + shown_name(node.type) + ") " +
                          why);
  };
  if (auto const unread = unread_part(node)) return fail(*unread);
  for (auto i = rule_of(node)->outputs; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty() && is_taken(node.outputs[i]))
      return fail("has an output " + std::to_string(i) + ", which is not here");
  bool is_constant = !node.inputs.empty() || node.type == "Constant";
  for (auto const& each : node.inputs) is_constant = is_constant && (each.empty() || constants_.contains(each));
  find_types(node);
  if (is_constant && constants_.fold(node)) return is_in_range(node) ? void() : fail("leaves the range of its type");
  auto const found = onnx_converters().find(node.type);
  bool const is_after_unknown =
      std::any_of(node.inputs.begin(), node.inputs.end(), [&](auto const& each) { return unknown_.contains(each); });
  if (found == onnx_converters().end() && is_after_unknown && !word_converters().contains(node.type) &&
      rule_of(node) != nullptr)
    return fail("");
  if (found == onnx_converters().end() && !word_converters().contains(node.type))
    return fail("is a " + shown_name(node.type) + ", which takes constants alone");
  auto const first = layers_.size();
  joined_names_.clear();
  try {
    if (is_constant && folds_empty_reduction(*this, node)) return;
    auto const words = word_converters().find(node.type);
    if (words != word_converters().end() && !is_constant && needs_words(node))
      words->second(*this, node);
    else if (found == onnx_converters().end())
      throw unsupported("is a " + shown_name(node.type) + ", which is not here for numbers of this type");
    else
      found->second(*this, is_constant ? node : with_floats(node));
    set_kinds(node), set_ranges(node);
    name_origin(node, first);
  } catch (unknown_input const&) {
    fail("");
  } catch (unsupported const& why) {
    fail(why.what());
  }
}

std::vector<int> onnx_trace::uses() const {
  std::vector<int> result(layers_.size());
  for (auto const& each : layers_)
    for (int const input : each.inputs) ++result[static_cast<std::size_t>(input)];
  for (int const output : outputs_) ++result[static_cast<std::size_t>(output)];
  return result;
}

std::vector<int> onnx_trace::each_itself() const {
  std::vector<int> result(layers_.size());
  std::iota(result.begin(), result.end(), 0);
  return result;
}

/// Replaces the output of a layer by that of an earlier layer, for all readers.
void onnx_trace::replace(std::vector<int> const& instead) {
  for (auto& each : layers_)
    for (int& input : each.inputs) input = instead[static_cast<std::size_t>(input)];
  for (int& output : outputs_) output = instead[static_cast<std::size_t>(output)];
}

void onnx_trace::name_layers() {
  std::set<std::string> taken;
  std::map<std::string, int> copies;
  for (auto& each : layers_) {
    if (each.name.empty()) continue;
    auto const base = each.name;
    while (!taken.insert(each.name).second) {
      auto const ending = "_" + std::to_string(++copies[base]);
      each.name = base.substr(0, fixed_name::capacity - ending.size()) + ending;
    }
  }
  std::map<std::string, int> counts;
  for (auto& each : layers_) {
    if (!each.name.empty()) continue;
    auto const own = each.config.find("operations");
    bool const is_own = each.class_name == own_class && own != each.config.end();
    auto const base = is_own ? own_layers_[own->get<std::size_t>()].name.str() : snake_case_of(each.class_name);
    do {
      int const count = counts[base]++;
      each.name = base + (count == 0 ? "" : "_" + std::to_string(count));
    } while (!taken.insert(each.name).second);
  }
}

json onnx_trace::configuration(std::map<std::string, std::vector<stored_array>>& weights) const {
  auto const history = [&](int layer) { return json::array({layers_[static_cast<std::size_t>(layer)].name, 0, 0}); };
  auto const entry = [&](traced_layer const& layer) {
    auto config = layer.config;
    config["name"] = layer.name;
    if (layer.class_name == "InputLayer") {
      config["batch_input_shape"] = json::array({nullptr});
      for (int const length : layer.lengths) config["batch_input_shape"].push_back(length);
    }
    json nodes = json::array();
    if (!layer.inputs.empty()) {
      json node = json::array();
      for (int const input : layer.inputs)
        node.push_back(json::array({layers_[static_cast<std::size_t>(input)].name, 0, 0, json::object()}));
      nodes.push_back(node);
    }
    return json{{"class_name", layer.class_name}, {"name", layer.name}, {"config", config}, {"inbound_nodes", nodes}};
  };
  bool is_chain = inputs_.size() == 1 && outputs_.size() == 1 && inputs_[0] == 0 && !layers_.empty() &&
                  outputs_[0] + 1 == static_cast<int>(layers_.size());
  for (std::size_t i = 1; i < layers_.size(); ++i)
    is_chain = is_chain && layers_[i].inputs == std::vector<int>{static_cast<int>(i) - 1};
  json content{{"layers", json::array()}};
  content["name"] = snake_case_of(clean_name(std::filesystem::path(file_).stem().string()));
  if (graph_.producer != "pytorch" && !graph_.name.empty()) content["name"] = clean_name(graph_.name);
  for (auto const& each : layers_) {
    content["layers"].push_back(entry(each));
    if (!each.weights.empty()) weights[each.name] = each.weights;
  }
  if (is_chain && layers_.size() > 1) return {{"class_name", "Sequential"}, {"config", content}};
  for (auto const* key : {"input_layers", "output_layers"}) {
    content[key] = json::array();
    for (int const layer : std::string(key) == "input_layers" ? inputs_ : outputs_)
      content[key].push_back(history(layer));
  }
  return {{"class_name", "Functional"}, {"config", content}};
}

json onnx_trace::run(std::map<std::string, std::vector<stored_array>>& weights,
                     std::vector<std::vector<int>>& input_axes, std::vector<std::vector<int>>& output_axes) {
  add_inputs();
  for (auto const& input : graph_.inputs) input_axes.push_back(tensors_.at(input.name).order);
  for (auto const& node : graph_.nodes)
    if (!skipped_.contains(&node)) convert(node);
  if (!problems_.empty()) {
    std::string text = file_ + ": what this model has and stagecraft has not:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5064", text);
  }
  if (graph_.outputs.empty()) wrong("the graph has no outputs");
  for (auto const& output : graph_.outputs) {
    if (auto value = constants_.find(output.name))
      tensors_.insert_or_assign(output.name, constant_output(std::move(*value), output.name));
    auto const found = tensors_.find(output.name);
    if (found == tensors_.end()) wrong("the graph has an output '" + output.name + "', which no node gives");
    auto tensor = of_one_head(found->second);
    if (tensor.joined_axis >= 0) wrong("output '" + output.name + "' joins samples with another axis");
    try {
      if (tensor.fused_axis >= 0 || !tensor.flat_order.empty() || tensor.order.empty() ||
          graph_.producer == "tensorflow")
        tensor = in_order(tensor);
    } catch (unsupported const& why) {
      wrong("output '" + output.name + "' " + why.what());
    }
    outputs_.push_back(tensor.layer);
    output_axes.push_back(tensor.order);
  }
  finish_affine();
  shorten_sequences();
  fuse_activations();
  drop_unused();
  for (auto const& each : layers_)
    if (is_held(each))
      io::refuse("E5064", file_,
                 "what this model has and stagecraft has not:\n  attention in other steps than those of "
                 "MultiHeadAttention: its " +
                     each.class_name.substr(each.class_name.find(' ') + 1));
  join_operations();
  name_halves();
  name_layers();
  return configuration(weights);
}

/// Removes layers that no output needs, such as those that became parts of others.
void onnx_trace::drop_unused() {
  std::vector<bool> needed(layers_.size());
  for (int const input : inputs_) needed[static_cast<std::size_t>(input)] = true;
  for (int const output : outputs_) needed[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = layers_.size(); i-- > 0;)
    if (needed[i])
      for (int const input : layers_[i].inputs) needed[static_cast<std::size_t>(input)] = true;
  std::vector<int> place(layers_.size());
  std::vector<traced_layer> kept;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    place[i] = static_cast<int>(kept.size());
    if (needed[i]) kept.push_back(std::move(layers_[i]));
  }
  layers_ = std::move(kept);
  auto const move = [&](int& index) { index = place[static_cast<std::size_t>(index)]; };
  for (auto& each : layers_) std::for_each(each.inputs.begin(), each.inputs.end(), move);
  std::for_each(inputs_.begin(), inputs_.end(), move);
  std::for_each(outputs_.begin(), outputs_.end(), move);
}

namespace {

source_model traced_model(onnx_graph const& graph, std::string const& file, import_options const& options,
                          bool is_one_sample) {
  std::map<std::string, std::vector<stored_array>> weights;
  std::vector<std::vector<int>> input_axes, output_axes;
  onnx_trace trace(graph, file, options, is_one_sample);
  auto const config = trace.run(weights, input_axes, output_axes);
  auto model = read_config(config, file, {}, [&](layer_config const& of) { return trace.make(of); });
  auto nodes = trace.nodes_of_layers();
  for (auto& layer : model.layers) {
    if (auto const found = weights.find(layer.name); found != weights.end()) layer.values = std::move(found->second);
    layer.nodes = std::move(nodes[layer.name]);
  }
  model.other_nodes = graph.other_names;
  model.input_axes = std::move(input_axes);
  model.output_axes = std::move(output_axes);
  return model;
}

/// True if all nodes of a graph have meant the same since opset 1.
bool is_ageless(onnx_graph const& graph) {
  static std::set<std::string> const all{
      "Constant", "Conv",  "Flatten",  "GlobalAveragePool", "GlobalMaxPool", "Identity",  "LRN",      "MaxPool",
      "Not",      "Shape", "Softplus", "Softsign",          "Squeeze",       "Transpose", "Unsqueeze"};
  return std::all_of(graph.nodes.begin(), graph.nodes.end(),
                     [](onnx_node const& node) { return node.domain.empty() && all.contains(node.type); });
}

/// True if the file fixes all lengths of its inputs, so that all of its axes can be those of one sample.
bool is_fixed(onnx_graph const& graph) {
  return std::all_of(graph.inputs.begin(), graph.inputs.end(), [](onnx_value const& input) {
    return std::all_of(input.shape.begin(), input.shape.end(), [](std::int64_t length) { return length > 0; });
  });
}

}  // namespace

source_model read_onnx(onnx_graph const& given, std::string const& file, import_options const& options) {
  if (given.opset > last_opset || given.opset < 1 || (given.opset < first_opset && !is_ageless(given)))
    io::refuse("E5063", file,
               "is of opset " + std::to_string(given.opset) + ", expected " + std::to_string(first_opset) + " to " +
                   std::to_string(last_opset) + ": torch.onnx.export(..., opset_version=17)");
  auto renewed = given;
  set_dimensions(renewed, file, options);
  auto const empty = options.input_shapes.empty() ? take_empty_inputs(renewed) : empty_inputs();
  upgrade_nodes(renewed);
  expand_microsoft_nodes(renewed);
  auto const graph = with_patterns(std::move(renewed), options.group_of);
  auto const traced = [&](bool is_one_sample) {
    auto model = traced_model(graph, file, options, is_one_sample);
    tell_empty_inputs(empty, file);
    if (empty.has_stand_in) model.input_axes = {{no_axis, unread_axis}};
    return model;
  };
  try {
    return traced(false);
  } catch (file_error const& problem) {
    bool const is_other = problem.code() != "E5063" && problem.code() != "E5064";
    if (is_other || !is_fixed(graph) || !options.input_shapes.empty()) throw;
    try {
      return traced(true);
    } catch (file_error const& other) {
      // The nodes' problems tell more than those of the inputs, and fewer of them are nearer to a model.
      auto const lines = [](file_error const& each) {
        std::string_view const text = each.what();
        return std::count(text.begin(), text.end(), '\n');
      };
      if (problem.code() == "E5063" || (other.code() == "E5064" && lines(other) < lines(problem))) throw;
    }
    throw;
  }
}

source_model read_onnx(std::string const& path, import_options const& options) {
  return read_onnx(read_onnx_file(path), path, options);
}

}  // namespace stagecraft::tool
