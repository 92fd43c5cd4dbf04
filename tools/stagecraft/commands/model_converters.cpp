// SPDX-License-Identifier: BSD-3-Clause
#include "commands/model_converters.hpp"

#include "commands/model_edits.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace stagecraft::tool {

namespace {

/// True if a layer, or all layers of a model, are on the host.
bool is_on_host(model_layer const& layer) {
  if (!layer.nested) return layer.is_input || (layer.layer && layer.layer->is_on_host);
  return std::all_of(layer.nested->layers.begin(), layer.nested->layers.end(), is_on_host);
}

/// The connected group of each call, named by the number of its first call; -1: none.
std::vector<int> connected_groups(source_model const& model, std::vector<bool> const& is_in) {
  std::vector<int> group(model.calls.size(), -1);
  for (std::size_t i = 0; i < group.size(); ++i)
    if (is_in[i]) group[i] = static_cast<int>(i);
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t i = 0; i < group.size(); ++i)
      for (auto const& input : model.calls[i].inputs)
        if (is_in[i] && is_in[at(input.call)] && group[i] != group[at(input.call)]) {
          group[i] = group[at(input.call)] = std::min(group[i], group[at(input.call)]);
          changes = true;
        }
  }
  return group;
}

/// True if an expression is found in a layer's name, or in that of a node that it was made of.
bool is_found(name_search& search, model_layer const& layer) { return search.finds(layer.name, layer.nodes); }

/// The name of a layer, or of the first of the file's nodes that it was made of.
std::string const& shown_node(model_layer const& layer) { return layer.nodes.empty() ? layer.name : layer.nodes[0]; }

/// Calls that form a GELU: the tensor that they read, and the one that they pass on.
struct gelu_group {
  std::vector<int> calls;
  std::optional<source_tensor> input, output;
};

}  // namespace

void model_converters::replace_gelu() {
  if (!options_.gelu_replacement) return;
  auto const& names = *options_.gelu_replacement;
  name_search nodes(names.nodes), inputs(names.node_as_gelu_input), users(names.node_use_gelu_output);
  auto const wrong = [&](std::string const& what) {
    throw file_error("E5143", where_ + ": gelu_replacement: " + what);
  };
  std::vector<bool> is_in;
  for (auto const& call : model_.calls)
    is_in.push_back(!model_.layer_of(call).is_input && is_found(nodes, model_.layer_of(call)));
  for (auto const& call : model_.calls) {
    (void)is_found(inputs, model_.layer_of(call));
    (void)is_found(users, model_.layer_of(call));
  }
  for (auto* each : {&nodes, &inputs, &users}) each->see(model_.other_nodes);
  nodes.report("gelu_replacement");
  inputs.report("gelu_replacement's 'node_as_gelu_input'");
  users.report("gelu_replacement's 'node_use_gelu_output'");
  auto const group_of = connected_groups(model_, is_in);
  std::map<int, gelu_group> groups;
  auto const name_of = [&](int call) { return "'" + model_.layer_of(model_.calls[at(call)]).name + "'"; };
  for (std::size_t i = 0; i < model_.calls.size(); ++i) {
    auto const& call = model_.calls[i];
    if (group_of[i] >= 0) groups[group_of[i]].calls.push_back(static_cast<int>(i));
    for (auto const& input : call.inputs) {
      int const own = group_of[i], from = group_of[at(input.call)];
      if (own == from) continue;
      if (own >= 0) {
        auto& known = groups[own].input;
        if (known && !(*known == input))
          wrong("the nodes of " + name_of(own) + " read both " + name_of(known->call) + " and " + name_of(input.call) +
                "; a GELU has one input");
        known = input;
        if (!names.node_as_gelu_input.empty() && !is_found(inputs, model_.layer_of(model_.calls[at(input.call)])))
          wrong(name_of(static_cast<int>(i)) + " reads " + name_of(input.call) + ", which is no 'node_as_gelu_input'");
      }
      if (from >= 0) {
        auto& known = groups[from].output;
        if (known && !(*known == input))
          wrong(name_of(known->call) + " and " + name_of(input.call) +
                " are both read by others; a GELU has one output");
        known = input;
        if (!names.node_use_gelu_output.empty() && !is_found(users, model_.layer_of(call)))
          wrong(name_of(input.call) + " is read by " + name_of(static_cast<int>(i)) +
                ", which is no 'node_use_gelu_output'");
      }
    }
  }
  for (auto& [first, group] : groups) {
    for (auto const& output : model_.outputs) {
      if (group_of[at(output.call)] != first) continue;
      if (group.output && !(*group.output == output))
        wrong(name_of(output.call) + " is an output of the model, and " + name_of(group.output->call) +
              " is used as well; a GELU has one output");
      group.output = output;
    }
    if (!group.input || !group.output) wrong("the nodes of " + name_of(first) + " are between no two others");
    auto const& before = model_.calls[at(group.input->call)].outputs[at(group.input->output)];
    auto const& after = model_.calls[at(group.output->call)].outputs;
    if (after.size() != 1 || (before && after[0] && *before != *after[0]))
      wrong(name_of(group.output->call) + " gives another shape than what " + name_of(first) +
            " reads; a GELU keeps it");
    // The last call of the group and its layer, which no other group may share, become the GELU.
    auto& call = model_.calls[at(group.output->call)];
    auto& layer = model_.layers[at(call.layer)];
    if (layer.calls > 1) wrong("layer '" + layer.name + "' is called " + std::to_string(layer.calls) + " times");
    layer.class_name = "Activation";
    layer.config = {{"name", layer.name}, {"activation", "gelu"}};
    layer.call_options = nullptr;
    layer.weights.clear();
    layer.values.clear();
    layer.layer = make_layer({layer.class_name, layer.config, 0});
    call.inputs = {*group.input};
  }
  std::vector<bool> is_removed = is_in;
  for (auto const& [first, group] : groups) is_removed[at(group.output->call)] = false;
  remove_calls(model_, is_removed);
}

void model_converters::place_on_ipus() {
  if (options_.excluded_nodes.empty()) return;
  name_search excluded(options_.excluded_nodes);
  if (!options_.remove_excluded_nodes) {
    for_each_layer(model_, "", [&](model_layer& layer, std::string const& path) {
      if (excluded.finds(path, layer.nodes)) layer.layer->is_on_host = true;
    });
    excluded.see(model_.other_nodes);
    excluded.report("excluded_nodes");
    // A tensor that goes from an IPU to the host must not come back.
    std::vector<int> behind(model_.calls.size(), -1);  // a layer on the host after IPUs
    std::vector<bool> is_behind(model_.calls.size());
    for (std::size_t i = 0; i < model_.calls.size(); ++i) {
      auto const& layer = model_.layer_of(model_.calls[i]);
      for (auto const& input : model_.calls[i].inputs) {
        is_behind[i] = is_behind[i] || is_behind[at(input.call)];
        behind[i] = std::max(behind[i], behind[at(input.call)]);
      }
      if (layer.is_input) continue;
      if (is_on_host(layer)) {
        if (is_behind[i]) behind[i] = static_cast<int>(i);
        continue;
      }
      if (behind[i] >= 0 && !options_.no_ipu_placement)
        throw file_error("E5140", where_ + ": the excluded node '" +
                                      shown_node(model_.layer_of(model_.calls[at(behind[i])])) + "' is between '" +
                                      layer.name +
                                      "' and layers before it, which are on IPUs; exclude all nodes from the beginning "
                                      "of the model on, or to its end");
      is_behind[i] = true;
    }
    return;
  }
  std::vector<bool> is_removed(model_.calls.size());
  for (std::size_t i = 0; i < model_.calls.size(); ++i) {
    auto const& layer = model_.layer_of(model_.calls[i]);
    is_removed[i] = !layer.is_input && is_found(excluded, layer);
  }
  excluded.see(model_.other_nodes);
  excluded.report("excluded_nodes");
  for (std::size_t i = 0; i < model_.calls.size(); ++i) {
    if (!is_removed[i]) continue;
    auto const own = static_cast<int>(i);
    auto const& call = model_.calls[i];
    auto const& name = model_.layer_of(call).name;
    auto const refuse = [&](std::string const& why) {
      throw file_error("E5142", where_ + ": the excluded node '" + name + "' cannot be removed: " + why);
    };
    if (call.inputs.size() != 1 || call.outputs.size() != 1)
      refuse("it has " + std::to_string(call.inputs.size()) + " inputs and " + std::to_string(call.outputs.size()) +
             " outputs; one that others do without has one of each");
    auto const from = call.inputs[0];
    auto& source = model_.calls[at(from.call)];
    bool is_read = false, is_alone = true;
    for (std::size_t k = 0; k < model_.calls.size(); ++k)
      for (auto const& input : model_.calls[k].inputs) {
        is_read = is_read || (input.call == own && !is_removed[k]);
        is_alone = is_alone && (!(input == from) || k == i);
      }
    auto const &before = source.outputs[at(from.output)], &after = call.outputs[0];
    bool const is_alike = before && after && *before == *after;
    bool const is_input = model_.layer_of(source).is_input && is_alone && after.has_value();
    if (!is_alike && is_read && !is_input)
      refuse("what it gives has another shape than what it reads, and is neither the model's input nor its output");
    if (!is_alike && is_input) source.outputs[0] = after;  // of which the model begins
    if (model_.layer_of(source).is_input && !is_read && is_alone)
      for (auto const& output : model_.outputs)
        if (output.call == own) refuse("nothing of the model would be left");
    replace_uses(model_, {own, 0}, from);
  }
  remove_calls(model_, is_removed);
}

void model_converters::convert_int64() {
  for (int const input : model_.inputs) {
    auto& layer = model_.layers[at(model_.calls[at(input)].layer)];
    if (!layer.config.is_object() || layer.config.value("dtype", json()) != "int64") continue;
    if (options_.int64_to_int32_conversion) {
      layer.config["dtype"] = "int32";
      layer.config["converted_from"] = "int64";
    } else if (!options_.no_ipu_placement) {
      throw file_error("E5147", where_ + ": input '" + layer.name +
                                    "' is of int64, which IPUs do not have; give --int64_to_int32_conversion");
    }
  }
}

void model_converters::convert_precision() {
  if (options_.precision_mode != "FP16") return;
  name_search excluded(options_.precision_conversion_excluded_nodes);
  for_each_layer(model_, "", [&](model_layer& layer, std::string const& path) {
    if (excluded.finds(path, layer.nodes)) return;
    layer.layer->dtype = dtype::float16;
    for (std::size_t i = 0; i < layer.values.size(); ++i)
      for (std::size_t k = 0; k < layer.values[i].values.size(); ++k)
        if (auto const value = static_cast<double>(layer.values[i].values[k]);
            !io::can_hold(element_type::float16, value))
          io::refuse_number(
              where_ + ": layer '" + path + "': " + layer.weights[i].name + io::place_text(layer.values[i].shape, k),
              io::text_of_number(value), element_type::float16);
  });
  excluded.see(model_.other_nodes);
  excluded.report("precision_conversion_excluded_nodes");
}

pipeline_solution model_converters::shard() const {
  pipeline_solution solution;
  if (options_.manual_sharding.empty()) return solution;
  std::vector<name_search> lists;
  for (auto const& each : options_.manual_sharding) lists.emplace_back(each);
  auto const calls = list_calls(model_);
  std::set<std::string> layers, on_host;
  for (auto const& [path, name] : calls) layers.insert(path);
  for_each_layer(model_, "", [&](model_layer& layer, std::string const& path) {
    if (layer.layer->is_on_host) on_host.insert(path);
  });
  if (on_host.size() == layers.size())
    throw file_error("E5136", where_ + ": 'manual_sharding' divides the model among IPUs, but no layer is on one");
  auto const nodes = nodes_by_path(model_);
  std::vector<int> device_of;
  for (auto const& [path, entry] : calls) {
    int device = 0;
    for (std::size_t i = lists.size(); i-- > 0;)
      if (lists[i].finds(path, nodes.at(path))) device = static_cast<int>(i);
    device_of.push_back(on_host.contains(path) ? -1 : device);
  }
  for (auto& list : lists) {
    list.see(model_.other_nodes);
    list.report("manual_sharding");
  }
  // Layers on the host belong to the stage of their neighbours.
  int device = -1;
  for (std::size_t i = device_of.size(); i-- > 0;) device_of[i] < 0 ? device_of[i] = device : device = device_of[i];
  device = 0;
  for (int& each : device_of) each < 0 ? each = device : device = each;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (solution.device_mapping.empty() || solution.device_mapping.back() != device_of[i])
      solution.device_mapping.push_back(device_of[i]);
    solution.pipeline_mapping.emplace_back(calls[i].second, solution.stages() - 1);
  }
  return solution;
}

}  // namespace stagecraft::tool
