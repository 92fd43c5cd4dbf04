// SPDX-License-Identifier: BSD-3-Clause
// Copies of graphs inside of graphs: functions of a file, branches, and bodies of loops.
#include "onnx_file.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <array>
#include <set>

namespace stagecraft::tool {

namespace {

using names_of = std::map<std::string, std::string>;

constexpr std::size_t most_nodes = 200'000;
constexpr int deepest = 64;

std::string name_in(names_of const& names, std::string const& name) {
  auto const found = names.find(name);
  return found == names.end() ? name : found->second;
}

onnx_node renamed_node(onnx_node node, names_of& names, std::string const& prefix) {
  for (auto& input : node.inputs) input = name_in(names, input);
  for (auto& [key, value] : node.attributes)
    if (value.graph) value.graph = std::make_shared<onnx_graph const>(renamed(*value.graph, names, prefix));
  for (auto& output : node.outputs)
    if (!output.empty()) output = names[output] = prefix + output;
  return node;
}

/// Gives attributes of a function's nodes the values that the calling node has; those without one are left out.
void resolve(onnx_node& node, onnx_node const& call, onnx_function const& function) {
  for (auto each = node.attributes.begin(); each != node.attributes.end();) {
    auto& value = each->second;
    if (value.graph) {
      auto body = *value.graph;
      for (auto& inner : body.nodes) resolve(inner, call, function);
      value.graph = std::make_shared<onnx_graph const>(std::move(body));
    }
    if (value.reference.empty()) {
      ++each;
      continue;
    }
    auto const given = call.attributes.find(value.reference);
    auto const by_default = function.defaults.find(value.reference);
    if (given != call.attributes.end())
      value = given->second, ++each;
    else if (by_default != function.defaults.end())
      value = by_default->second, ++each;
    else
      each = node.attributes.erase(each);
  }
}

class inlining {
 public:
  inlining(std::vector<onnx_function> const& functions, std::int64_t opset, std::string const& file)
      : opset_(opset), file_(file) {
    for (auto const& each : functions) functions_[{each.domain, each.name, each.overload}] = &each;
  }

  [[nodiscard]] std::vector<onnx_node> flat(std::vector<onnx_node> const& nodes, int depth) {
    std::vector<onnx_node> result;
    for (auto const& node : nodes) {
      if (depth > deepest || ++count_ > most_nodes)
        io::refuse("E5230", file_, "its functions contain themselves, or have more than 200,000 nodes altogether");
      auto const found = functions_.find({node.domain, node.type, node.overload});
      if (found == functions_.end()) {
        result.push_back(node);
        for (auto& [key, value] : result.back().attributes) {
          if (!value.graph) continue;
          auto body = *value.graph;
          body.nodes = flat(body.nodes, depth + 1);
          value.graph = std::make_shared<onnx_graph const>(std::move(body));
        }
        continue;
      }
      for (auto& each : flat(body_of(node, *found->second), depth + 1)) result.push_back(std::move(each));
    }
    return result;
  }

 private:
  /// The nodes that a call stands for.
  std::vector<onnx_node> body_of(onnx_node const& call, onnx_function const& function) {
    constexpr std::int64_t first_same = 13;  // older operators have attributes that are inputs since then
    if (function.opset != opset_ && std::min(function.opset, opset_) < first_same)
      io::refuse("E5063", file_, "its function '" + function.name + "' is of another opset than the file");
    names_of names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i)
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string();
    auto const prefix = function.name + std::to_string(calls_++) + "/";
    std::vector<onnx_node> result;
    for (auto const& node : function.nodes) {
      auto copy = node;
      resolve(copy, call, function);
      result.push_back(renamed_node(std::move(copy), names, prefix));
    }
    for (std::size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      onnx_node passed;
      passed.type = "Identity", passed.inputs = {name_in(names, function.outputs[i])};
      passed.outputs = {call.outputs[i]};
      result.push_back(std::move(passed));
    }
    return result;
  }

  std::map<std::array<std::string, 3>, onnx_function const*> functions_;  ///< by domain, name and overload
  std::int64_t opset_;
  std::string const& file_;
  std::size_t count_ = 0, calls_ = 0;
};

}  // namespace

onnx_graph renamed(onnx_graph const& from, std::map<std::string, std::string> names, std::string const& prefix) {
  auto result = from;
  for (auto& input : result.inputs)
    if (!names.contains(input.name)) input.name = names[input.name] = prefix + input.name;
  for (auto& constant : result.constants) constant.name = names[constant.name] = prefix + constant.name;
  for (auto& node : result.nodes) node = renamed_node(std::move(node), names, prefix);
  for (auto& output : result.outputs) output.name = name_in(names, output.name);
  return result;
}

std::vector<std::string> captures_of(onnx_graph const& graph) {
  std::set<std::string> own, taken;
  for (auto const& each : graph.inputs) own.insert(each.name);
  for (auto const& each : graph.constants) own.insert(each.name);
  auto const take = [&](std::string const& name) {
    if (!name.empty() && !own.contains(name)) taken.insert(name);
  };
  for (auto const& node : graph.nodes) {
    for (auto const& input : node.inputs) take(input);
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (auto const& output : graph.outputs) take(output.name);
  return {taken.begin(), taken.end()};
}

void inline_functions(onnx_graph& graph, std::vector<onnx_function> const& functions, std::string const& file) {
  graph.nodes = inlining(functions, graph.opset, file).flat(graph.nodes, 0);
}

}  // namespace stagecraft::tool
