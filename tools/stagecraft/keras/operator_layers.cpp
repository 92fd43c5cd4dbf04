// SPDX-License-Identifier: BSD-3-Clause
#include "keras/operator_layers.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <utility>

namespace stagecraft::tool {

namespace {

/// Sets the shape of a tensor as Keras 3 has it in the file.
void set_shape(operand& tensor, json const& of) {
  if (!of.is_object() || !of.contains("shape") || !of["shape"].is_array()) return;
  tensor.lengths.clear();
  for (auto const& each : of["shape"])
    tensor.lengths.push_back(each.is_number_integer() ? each.get<std::int64_t>() : -1);
  tensor.rank = static_cast<int>(tensor.lengths.size());
}
operand_kind kind_of(source_model const& model, source_tensor const& tensor) {
  auto const& layer = model.layer_of(model.calls[at(tensor.call)]);
  if (!layer.is_input || !layer.config.is_object()) return operand_kind::real;
  auto const type = layer.config.value("dtype", json("float32"));
  return type.is_string() && type.get<std::string>().find("int") != std::string::npos ? operand_kind::whole
                                                                                      : operand_kind::real;
}

}  // namespace

int operator_layers::declare(std::string name, std::string function) {
  operations_.push_back({std::move(name), std::move(function)});
  return first + static_cast<int>(operations_.size()) - 1;
}

std::optional<source_tensor> operator_layers::find(place const& output) const {
  auto const found = made_.find(output);
  return found == made_.end() ? std::nullopt : std::optional(found->second);
}

void operator_layers::add(source_model& model, operator_groups const& groups, int group,
                          std::vector<config_call> const& calls, std::vector<int> const& nodes,
                          std::function<std::optional<source_tensor>(history const&)> const& find_tensor,
                          std::set<std::string>& names) {
  auto const& members = groups.members(group);
  std::vector<source_tensor> from;  // what the graph's inputs are
  std::map<std::pair<int, int>, operand> known;
  std::map<place, operand> made;
  std::vector<operand> results;
  std::vector<place> places;
  std::vector<std::optional<shape>> const no_outputs;
  bool is_known = true;
  operator_graph graph;
  for (auto const i : members) {
    auto const& call = calls[i];
    auto const& own = operations_[at(call.layer - first)];
    operator_call written{own.name, own.function, call.positional, call.named, {}};
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      auto const giver = groups.place_of(call.inputs[k]);
      if (auto const inside = made.find({giver.first, giver.second, call.inputs[k].output}); inside != made.end()) {
        written.given.push_back(inside->second);
        set_shape(written.given.back(), call.shapes[k]);
        continue;
      }
      auto const tensor = find_tensor(call.inputs[k]);
      auto const& outputs = tensor ? model.calls[at(tensor->call)].outputs : no_outputs;
      bool const has_shape = tensor && tensor->output >= 0 && tensor->output < static_cast<int>(outputs.size()) &&
                             outputs[at(tensor->output)];
      if (!has_shape) {
        is_known = false;
        break;
      }
      auto& input = known[{tensor->call, tensor->output}];
      if (input.node.empty()) {
        input = graph.add_input(*outputs[at(tensor->output)], kind_of(model, *tensor));
        from.push_back(*tensor);
      }
      written.given.push_back(input);
    }
    if (!is_known) break;
    try {
      auto const added = graph.add(written);
      for (std::size_t k = 0; k < added.size(); ++k) {
        place const output(call.layer, nodes[i], static_cast<int>(k));
        made[output] = added[k];
        if (groups.is_needed(output)) results.push_back(added[k]), places.push_back(output);
      }
    } catch (unsupported const& why) {
      problems_.push_back("layer '" + diagnostics::shown_name(own.name) + "' (" +
                          diagnostics::shown_name(own.function) + ") " + why.what());
      is_known = false;
      break;
    }
  }
  if (is_known && !results.empty()) try {
      splice(graph.read(results, file_), from, places, model, names);
      return;
    } catch (file_error const& why) {
      std::string_view text = why.what();
      text = text.substr(0, text.rfind(" ["));
      auto const line = text.find('\n');
      text = line == text.npos ? text.substr(std::min(text.size(), file_.size() + 2)) : text.substr(line + 1);
      while (text.starts_with(' ')) text.remove_prefix(1);
      problems_.emplace_back(text);
    } catch (unsupported const& why) {
      problems_.push_back("an operation on tensors " + std::string(why.what()));
    }
  // What comes after it is not known, and one of the problems says why.
  model.calls.push_back({0, {}, {std::nullopt}});
  for (auto const i : members)
    for (int k = 0; k < 64; ++k) made_[{calls[i].layer, nodes[i], k}] = {static_cast<int>(model.calls.size()) - 1, 0};
}

/// Adds the layers and calls of a model of operations, whose inputs are `from`.
void operator_layers::splice(source_model made, std::vector<source_tensor> const& from,
                             std::vector<place> const& places, source_model& model, std::set<std::string>& names) {
  std::map<int, int> layer_of;
  std::vector<std::optional<source_tensor>> stands_for(made.calls.size());
  for (std::size_t i = 0; i < made.inputs.size(); ++i) stands_for[at(made.inputs[i])] = from.at(i);
  auto const tensor_of = [&](source_tensor const& in) {
    auto const& found = stands_for[at(in.call)];
    return source_tensor{found->call, found->output + in.output};
  };
  for (std::size_t i = 0; i < made.calls.size(); ++i) {
    auto const& call = made.calls[i];
    if (stands_for[i]) continue;
    auto const [layer, is_new] = layer_of.emplace(call.layer, static_cast<int>(model.layers.size()));
    if (is_new) {
      auto& own = made.layers[at(call.layer)];
      // Layers without weights have the library's names, unless other layers do.
      auto const base = own.weights.empty() ? own.layer->default_name : own.name;
      own.name = base;
      for (int number = 1; !names.insert(own.name).second; ++number) own.name = base + "_" + std::to_string(number);
      own.is_of_operators = true;
      model.layers.push_back(std::move(own));
    }
    source_call added{layer->second, {}, call.outputs};
    for (auto const& input : call.inputs) added.inputs.push_back(tensor_of(input));
    stands_for[i] = source_tensor{static_cast<int>(model.calls.size()), 0};
    model.calls.push_back(std::move(added));
  }
  for (std::size_t i = 0; i < places.size(); ++i) made_[places[i]] = tensor_of(made.outputs.at(i));
}

}  // namespace stagecraft::tool
