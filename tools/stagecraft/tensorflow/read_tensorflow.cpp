// SPDX-License-Identifier: BSD-3-Clause
#include "tensorflow/read_tensorflow.hpp"

#include "onnx/onnx_trace.hpp"
#include "tensorflow/lowering.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/shown_text.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <algorithm>
#include <set>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

std::string listed(std::vector<std::string> const& names) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += (i == 0 ? "'" : ", '") + shown_name(names[i]) + "'";
  return text + (names.size() > most ? ", ..." : "");
}

source_model read(tensorflow_graph const& graph, tensorflow_signature const& signature, std::string const& file,
                  import_options const& options, variable_reader variables) {
  auto lowered = tensorflow_lowering(graph, file, std::move(variables), options.group_of).run(signature);
  auto model = read_onnx(lowered, file, options);
  for (auto const& output : signature.outputs) model.output_names.push_back(output.key);
  return model;
}

/// The nodes whose output nobody reads, except constants and nodes without outputs.
std::vector<std::string> last_nodes(tensorflow_graph const& graph) {
  std::set<std::string> read;
  for (auto const& node : graph.nodes)
    for (auto const& input : node.inputs) read.insert(input.substr(0, input.find(':')));
  std::vector<std::string> result;
  for (auto const& node : graph.nodes)
    if (!read.contains(node.name) && node.type != "Const" && node.type != "NoOp" && node.type != "Assert" &&
        node.type != "Placeholder")
      result.push_back(node.name);
  return result;
}

}  // namespace

source_model read_saved_graph(tensorflow_graph const& graph, tensor_bundle const& variables, std::string const& file,
                              import_options const& options) {
  auto const name = options.signature.empty() ? std::string("serving_default") : options.signature;
  auto const found = graph.signatures.find(name);
  if (found == graph.signatures.end() || found->second.inputs.empty() || found->second.outputs.empty()) {
    std::vector<std::string> others;
    for (auto const& [key, signature] : graph.signatures)
      if (!signature.inputs.empty() && !signature.outputs.empty()) others.push_back(key);
    io::refuse("E5242", file,
               "has no signature '" + shown_name(name) + "' with inputs and outputs; " +
                   (others.empty() ? std::string("it has none: give tf.saved_model.save signatures=...")
                                   : "--signature is one of " + listed(others)));
  }
  if (auto const& method = found->second.method;
      method == "tensorflow/serving/classify" || method == "tensorflow/serving/regress")
    io::refuse("E5242", file,
               "the signature '" + shown_name(name) + "' is one of examples (" + method +
                   "), which its nodes parse from bytes: --signature names one of tensors, and .signatures of an "
                   "export, or of its application.json, say how a server reads examples");
  if (!options.output_nodes.empty())
    io::refuse("E5209", file, "--output-node is for frozen graphs; a SavedModel has signatures");
  return read(graph, found->second, file, options, [&](std::string const& key) { return variables.tensor(key); });
}

source_model read_frozen_graph(tensorflow_graph const& graph, std::string const& file, import_options const& options) {
  if (!options.signature.empty())
    io::refuse("E5209", file, "--signature is for SavedModels; a frozen graph has nodes: --output-node");
  std::map<std::string, tensorflow_node const*> nodes;
  for (auto const& node : graph.nodes) nodes.emplace(node.name, &node);
  auto wanted = options.output_nodes;
  if (wanted.empty()) {
    wanted = last_nodes(graph);
    if (wanted.size() != 1)
      io::refuse("E5243", file,
                 "does not say which of its nodes are outputs; give --output-node" +
                     (wanted.empty() ? std::string() : ", such as one of " + listed(wanted)));
  }
  tensorflow_signature signature;
  std::set<std::string> needed;
  std::vector<std::string> queue;
  for (auto const& each : wanted) {
    auto const name = each.substr(0, each.find(':'));
    if (!nodes.contains(name))
      io::refuse("E5243", file, "has no node '" + shown_name(name) + "', which --output-node names");
    signature.outputs.push_back({name, each, 1, {}, true});
    if (needed.insert(name).second) queue.push_back(name);
  }
  while (!queue.empty()) {
    auto const name = queue.back();
    queue.pop_back();
    auto const found = nodes.find(name);
    if (found == nodes.end()) continue;
    for (auto const& input : found->second->inputs)
      if (auto const from = input.substr(0, input.find(':')); !from.starts_with('^') && needed.insert(from).second)
        queue.push_back(from);
  }
  for (auto const& node : graph.nodes) {
    if (node.type != "Placeholder" || !needed.contains(node.name)) continue;
    auto const* const shape = node.find("shape");
    signature.inputs.push_back({node.name, node.name, static_cast<std::int32_t>(node.integer("dtype", 1)),
                                shape == nullptr ? std::vector<std::int64_t>() : shape->integers,
                                shape != nullptr && shape->has_rank});
  }
  return read(graph, signature, file, options, [&](std::string const& key) -> stored_tensor {
    io::refuse("E5241", file, "reads the variable '" + shown_name(key) + "', and a frozen graph has none");
  });
}

source_model read_frozen_graph(std::string const& path, import_options const& options) {
  io::byte_source const source(path);
  return read_frozen_graph(parse_graph_def(io::text_of(source), path), path, options);
}

}  // namespace stagecraft::tool
