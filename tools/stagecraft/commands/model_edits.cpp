// SPDX-License-Identifier: BSD-3-Clause
#include "commands/model_edits.hpp"

#include <stagecraft/models/name_pattern.hpp>
#include <cstddef>
#include <cstdio>
#include <map>
#include <utility>

namespace stagecraft::tool {

std::string searched_expression(std::string const& expression) { return ".*?(?:" + expression + ")"; }

name_search::name_search(std::vector<std::string> const& expressions) {
  for (auto const& each : expressions) expressions_.push_back({each, searched_expression(each)});
}

bool name_search::finds(std::string const& name) {
  bool result = false;
  for (auto& each : expressions_)
    if (models::name_pattern(each.searched).matches(name)) result = each.is_found = true;
  return result;
}

bool name_search::finds(std::string const& path, std::vector<std::string> const& nodes) {
  bool result = finds(path);
  for (auto const& each : nodes) result = finds(each) || result;
  return result;
}

void name_search::see(std::vector<std::string> const& names) {
  for (auto const& each : names) static_cast<void>(finds(each));
}

void name_search::report(std::string const& option) const {
  for (auto const& each : expressions_)
    if (!each.is_found)
      std::fprintf(stderr, "WARNING: '%s' of %s is in the name of no layer\n", each.text.c_str(), option.c_str());
}

void for_each_layer(source_model& model, std::string const& prefix,
                    std::function<void(model_layer& layer, std::string const& path)> const& visit) {
  for (auto& layer : model.layers) {
    if (layer.nested) for_each_layer(*layer.nested, prefix + layer.name + "/", visit);
    if (layer.layer) visit(layer, prefix + layer.name);
  }
}

namespace {

void add_nodes(source_model const& model, std::string const& prefix,
               std::map<std::string, std::vector<std::string>>& to) {
  for (auto const& layer : model.layers) {
    if (layer.nested) add_nodes(*layer.nested, prefix + layer.name + "/", to);
    to[prefix + layer.name] = layer.nodes;
  }
}

void add_calls(source_model const& model, std::string const& prefix, std::map<std::string, int>& count,
               std::vector<std::pair<std::string, std::string>>& to) {
  for (auto const& call : model.calls) {
    auto const& layer = model.layer_of(call);
    auto const path = prefix + layer.name;
    if (layer.nested) add_calls(*layer.nested, path + "/", count, to);
    if (!layer.layer) continue;
    int const number = count[path]++;
    to.emplace_back(path, number == 0 ? path : path + "[" + std::to_string(number) + "]");
  }
}

}  // namespace

std::map<std::string, std::vector<std::string>> nodes_by_path(source_model const& model) {
  std::map<std::string, std::vector<std::string>> nodes;
  add_nodes(model, "", nodes);
  return nodes;
}

std::vector<std::pair<std::string, std::string>> list_calls(source_model const& model) {
  std::vector<std::pair<std::string, std::string>> calls;
  std::map<std::string, int> count;
  add_calls(model, "", count, calls);
  return calls;
}

void replace_uses(source_model& model, source_tensor const& from, source_tensor const& to) {
  for (auto& call : model.calls)
    for (auto& input : call.inputs)
      if (input == from) input = to;
  for (auto& output : model.outputs)
    if (output == from) output = to;
}

void remove_calls(source_model& model, std::vector<bool> const& is_removed) {
  std::vector<int> call_of(model.calls.size(), -1), layer_of(model.layers.size(), -1), count(model.layers.size());
  std::vector<source_call> calls;
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    if (is_removed[i]) continue;
    call_of[i] = static_cast<int>(calls.size());
    ++count[static_cast<std::size_t>(model.calls[i].layer)];
    calls.push_back(std::move(model.calls[i]));
  }
  std::vector<model_layer> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (count[i] == 0) continue;
    layer_of[i] = static_cast<int>(layers.size());
    layers.push_back(std::move(model.layers[i]));
    layers.back().calls = count[i];
  }
  auto const renumber = [&](source_tensor& tensor) { tensor.call = call_of[static_cast<std::size_t>(tensor.call)]; };
  for (auto& call : calls) {
    call.layer = layer_of[static_cast<std::size_t>(call.layer)];
    for (auto& input : call.inputs) renumber(input);
  }
  for (auto& output : model.outputs) renumber(output);
  std::vector<int> inputs;
  for (int const input : model.inputs)
    if (call_of[static_cast<std::size_t>(input)] >= 0) inputs.push_back(call_of[static_cast<std::size_t>(input)]);
  model.inputs = std::move(inputs);
  model.calls = std::move(calls);
  model.layers = std::move(layers);
}

}  // namespace stagecraft::tool
