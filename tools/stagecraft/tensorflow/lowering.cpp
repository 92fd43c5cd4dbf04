// SPDX-License-Identifier: BSD-3-Clause
#include "tensorflow/lowering.hpp"

#include "onnx/onnx_folding.hpp"
#include "onnx/onnx_trace.hpp"
#include "tensorflow/operation_table.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/shown_text.hpp>
#include <algorithm>
#include <charconv>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

constexpr int deepest_call = 32;
constexpr int most_iterations = 4096;

/// The node of a reference such as "node", "node:1", "node:output:1".
std::string node_of(std::string const& reference) { return reference.substr(0, reference.find(':')); }

bool is_order(std::string const& reference) { return reference.starts_with('^'); }

bool changes_variable(std::string const& type) {
  return type.starts_with("Assign") || type.starts_with("ResourceScatter") || type.starts_with("ResourceApply");
}

bool is_call(std::string const& type) { return type == "PartitionedCall" || type == "StatefulPartitionedCall"; }
bool is_condition(std::string const& type) { return type == "If" || type == "StatelessIf"; }
bool is_loop(std::string const& type) { return type == "While" || type == "StatelessWhile"; }

}  // namespace

/// A graph or a function's body while it is lowered.
struct tensorflow_lowering::scope {
  std::map<std::string_view, tensorflow_node const*> nodes;
  std::map<std::string, std::vector<lowered_value>> values;  ///< outputs of nodes and arguments
  std::string prefix;
  int depth = 0;
};

tensorflow_lowering::tensorflow_lowering(tensorflow_graph const& graph, std::string const& file,
                                         variable_reader variables,
                                         std::function<int(std::string const& node)> group_of)
    : graph_(graph),
      file_(file),
      read_variable_(std::move(variables)),
      group_of_(std::move(group_of)),
      constants_(onnx_graph{}) {
  made_.producer = "tensorflow";
  made_.opset = 20;
}

void tensorflow_lowering::wrong(std::string const& what) const { io::refuse("E5241", file_, what); }

lowered_value const* tensorflow_lowering::find(scope const& in, std::string const& reference) const {
  auto const name = node_of(reference);
  auto const found = in.values.find(name);
  if (found == in.values.end()) return nullptr;
  std::size_t index = 0;
  if (auto const last = reference.rfind(':'); last != std::string::npos && last + 1 < reference.size()) {
    auto const* const begin = reference.data() + last + 1;
    auto const* const end = reference.data() + reference.size();
    if (std::from_chars(begin, end, index).ptr != end) index = 0;
    if (last > name.size()) {  // "node:output:1" counts within that output
      auto const output = std::string_view(reference).substr(name.size() + 1, last - name.size() - 1);
      auto const node = in.nodes.find(name);
      auto const* const rule = node == in.nodes.end() ? nullptr : rule_of(*node->second);
      if (rule != nullptr && !rule->outputs.empty()) {
        auto const place = std::find(rule->outputs.begin(), rule->outputs.end(), output);
        if (place == rule->outputs.end()) return nullptr;
        index += static_cast<std::size_t>(place - rule->outputs.begin());
      }
    }
  }
  return index < found->second.size() ? &found->second[index] : nullptr;
}

/// The nodes that are needed; each stands after those whose outputs it takes.
std::vector<tensorflow_node const*> tensorflow_lowering::order_of(scope const& in,
                                                                  std::vector<std::string> const& wanted,
                                                                  bool follows_orders) const {
  enum class marks : unsigned char { open, done };
  std::map<tensorflow_node const*, marks> mark;
  std::vector<tensorflow_node const*> order;
  std::vector<std::pair<tensorflow_node const*, std::size_t>> stack;
  auto const enter = [&](std::string const& reference) {
    if (in.values.contains(node_of(reference))) return;
    auto const found = in.nodes.find(node_of(reference));
    if (found == in.nodes.end()) return;  // the node that reads it reports it
    auto const [at, is_new] = mark.emplace(found->second, marks::open);
    if (is_new)
      stack.emplace_back(found->second, 0);
    else if (at->second == marks::open)
      wrong("its nodes go round in a circle, in which '" + shown_name(found->second->name) +
            "' is; loops of TensorFlow 1 are not read");
  };
  for (auto const& each : wanted) {
    enter(each);
    while (!stack.empty()) {
      auto const [node, next] = stack.back();
      if (next == node->inputs.size()) {
        mark[node] = marks::done;
        order.push_back(node);
        stack.pop_back();
        continue;
      }
      ++stack.back().second;
      auto const& input = node->inputs[next];
      if (!is_order(input))
        enter(input);
      else if (follows_orders)
        enter(input.substr(1));
    }
  }
  return order;
}

void tensorflow_lowering::carry_out(scope& in, std::vector<std::string> const& wanted) {
  for (auto const* const node : order_of(in, wanted, is_restoring_)) {
    if (steps_left_-- == 0) wrong("it has more nodes than are read, with those of its functions and loops");
    lower(in, *node);
  }
}

void tensorflow_lowering::lower(scope& in, tensorflow_node const& node) {
  try {
    if (is_restoring_)
      restore(in, node);
    else
      lower_known(in, node);
  } catch (unknown_input const&) {  // reported where it became unknown
  } catch (unsupported const& why) {
    auto text = "node '" + shown_name(in.prefix + node.name) + "' (" + shown_name(node.type) + ") " + why.what();
    if (reported_.insert(text).second) problems_.push_back(std::move(text));
  }
}

void tensorflow_lowering::lower_known(scope& in, tensorflow_node const& node) {
  if (auto const unread = unread_part(node)) throw unsupported(*unread);
  std::vector<lowered_value const*> given;
  for (auto const& each : node.inputs) {
    if (is_order(each)) continue;
    given.push_back(find(in, each));
    if (given.back() != nullptr) continue;
    if (in.nodes.contains(node_of(each))) throw unknown_input();
    wrong("node '" + shown_name(node.name) + "' takes '" + shown_name(each) + "', which nothing gives");
  }
  auto& made = in.values[node.name];
  auto const& type = node.type;
  if (type == "VarHandleOp" || type == "VariableV2") {
    auto const shared = node.text("shared_name", "");
    made.push_back({});
    made[0].variable = shared.empty() ? node.name : shared;
    made[0].is_reference = type == "VariableV2";
    return;
  }
  if (type == "Const") {
    auto const* const value = node.find("value");
    if (value == nullptr) throw unsupported("has no value");
    made.push_back({});
    if (value->tensor) {
      auto tensor = *value->tensor;
      tensor.name = unused_name(in.prefix + node.name);
      made_.other_names.push_back(in.prefix + node.name);
      made[0].tensor = add_constant(std::move(tensor));
    } else {
      made[0].texts = value->texts;
    }
    return;
  }
  if (type == "Identity" || type == "IdentityN" || type == "StopGradient" || type == "PreventGradient" ||
      type == "Snapshot" || type == "CheckNumerics" || type == "EnsureShape" || type == "PlaceholderWithDefault") {
    for (auto const* each : given) made.push_back(*each);
    made_.other_names.push_back(in.prefix + node.name);
    return;
  }
  if (type == "Placeholder") throw unsupported("is an input that the signature does not have");
  auto const values = [&](std::size_t first) {
    std::vector<lowered_value> result;
    for (std::size_t i = first; i < given.size(); ++i) result.push_back(*given[i]);
    return result;
  };
  if (is_call(type)) {
    auto results = call(node.text("f", ""), values(0), in, node);
    in.values[node.name] = std::move(results);
    return;
  }
  if (is_condition(type)) {
    if (given.empty()) throw unsupported("lacks its condition");
    auto const condition = constants_.find(tensor_of(*given[0]));
    if (!condition || condition->values.size() != 1 || condition->values[0] <= -1e15)
      throw unsupported("chooses by a condition that depends on data");
    auto results = call(node.text(condition->values[0] != 0 ? "then_branch" : "else_branch", ""), values(1), in, node);
    in.values[node.name] = std::move(results);
    return;
  }
  if (is_loop(type)) return call_loop(in, node, values(0));
  if (type == "ReadVariableOp") {
    if (given.empty() || given[0]->variable.empty()) throw unsupported("reads what is no variable");
    made.push_back({});
    made_.other_names.push_back(in.prefix + node.name);
    made[0].tensor = variable_of(given[0]->variable);
    return;
  }
  auto const found = tensorflow_converters().find(type);
  if (found == tensorflow_converters().end()) throw unsupported("is a " + shown_name(type) + ", which is not here");
  node_ = &node, scope_ = &in, given_ = std::move(given), full_name_ = in.prefix + node.name;
  lowered_value table;
  if (type == "ResourceGather" && !given_.empty()) {  // reads the variable
    if (given_[0]->variable.empty()) throw unsupported("reads what is no variable");
    table.tensor = variable_of(given_[0]->variable);
    given_[0] = &table;
  }
  found->second(*this);
}

std::vector<lowered_value> tensorflow_lowering::call(std::string const& function,
                                                     std::vector<lowered_value> const& with, scope const& from,
                                                     tensorflow_node const& caller) {
  auto const found = graph_.functions.find(function);
  if (found == graph_.functions.end()) wrong("it has no function '" + shown_name(function) + "'");
  auto const& body = found->second;
  if (from.depth == deepest_call) wrong("its functions call each other more than 32 deep");
  if (with.size() != body.arguments.size())
    wrong("function '" + shown_name(function) + "' is called with " + std::to_string(with.size()) + " arguments, not " +
          std::to_string(body.arguments.size()));
  scope inside;
  inside.depth = from.depth + 1;
  inside.prefix = from.prefix;
  if (!inlined_.insert(from.prefix + function).second && !is_loop(caller.type)) inside.prefix += caller.name + "/";
  if (inside.prefix.size() > 4096) wrong("names of nodes in its functions are longer than 4096 letters");
  for (auto const& node : body.nodes) {
    if (steps_left_-- == 0) wrong("it has more nodes than are read, with those of its functions and loops");
    if (!inside.nodes.emplace(node.name, &node).second)
      wrong("function '" + shown_name(function) + "' has two nodes '" + shown_name(node.name) + "'");
    if (changes_variable(node.type) && !is_restoring_)
      problems_.push_back("node '" + shown_name(inside.prefix + node.name) + "' (" + shown_name(node.type) +
                          ") changes a variable in each call, and a model here keeps no such state");
  }
  for (std::size_t i = 0; i < with.size(); ++i) inside.values[body.arguments[i]] = {with[i]};
  std::vector<std::string> wanted;
  for (auto const& [name, tensor] : body.results) wanted.push_back(tensor);
  if (is_restoring_)
    for (auto const& node : body.nodes) wanted.push_back(node.name);
  carry_out(inside, wanted);
  std::vector<lowered_value> results;
  for (auto const& [name, tensor] : body.results) {
    auto const* const value = find(inside, tensor);
    results.push_back(value == nullptr ? lowered_value{} : *value);
  }
  return results;
}

/// Unrolls a loop whose number of iterations is known.
void tensorflow_lowering::call_loop(scope& in, tensorflow_node const& node, std::vector<lowered_value> values) {
  for (int i = 0; i < most_iterations; ++i) {
    auto const condition = call(node.text("cond", ""), values, in, node);
    if (condition.size() != 1) wrong("loop '" + shown_name(node.name) + "' has a condition that is not one value");
    auto const goes_on = constants_.find(tensor_of(condition[0]));
    if (!goes_on || goes_on->values.size() != 1 || goes_on->values[0] <= -1e15)
      throw unsupported("repeats as often as data or lengths say, which are not known when the graph is read");
    if (goes_on->values[0] == 0) {
      in.values[node.name] = std::move(values);
      return;
    }
    auto const count = values.size();
    values = call(node.text("body", ""), values, in, node);
    if (values.size() != count) wrong("loop '" + shown_name(node.name) + "' returns another number of values");
  }
  throw unsupported("repeats more than " + std::to_string(most_iterations) + " times");
}

/// Follows the nodes that restore variables, which name each variable's key in the checkpoint.
void tensorflow_lowering::restore(scope& in, tensorflow_node const& node) {
  std::vector<lowered_value> given;
  for (auto const& each : node.inputs) {
    if (is_order(each)) continue;
    auto const* const value = find(in, each);
    given.push_back(value == nullptr ? lowered_value{} : *value);
  }
  auto const& type = node.type;
  auto& made = in.values[node.name];
  if (type == "VarHandleOp" || type == "VariableV2") {
    auto const shared = node.text("shared_name", "");
    made.push_back({});
    made[0].variable = shared.empty() ? node.name : shared;
  } else if (type == "Const") {
    made.push_back({});
    if (auto const* const value = node.find("value")) made[0].texts = value->texts;
  } else if (type == "RestoreV2" && given.size() > 1) {
    for (auto const& key : given[1].texts) {
      made.push_back({});
      made.back().restored = key;
    }
  } else if (type == "Identity" && !given.empty()) {
    made.push_back(given[0]);
  } else if ((type == "AssignVariableOp" || type == "Assign") && given.size() > 1) {
    if (!given[0].variable.empty() && !given[1].restored.empty()) keys_[given[0].variable] = given[1].restored;
    made.push_back(given[0]);
  } else if (is_call(type)) {
    auto results = call(node.text("f", ""), given, in, node);
    in.values[node.name] = std::move(results);
  }
}

void tensorflow_lowering::find_variables() {
  if (graph_.restore_node.empty()) return;
  scope whole;
  for (auto const& node : graph_.nodes) whole.nodes.emplace(node.name, &node);
  is_restoring_ = true;
  carry_out(whole, {graph_.restore_node});
  is_restoring_ = false;
  inlined_.clear();
}

std::string tensorflow_lowering::tensor_of(lowered_value const& value) {
  if (!value.tensor.empty()) return value.tensor;
  if (value.is_reference) return variable_of(value.variable);
  if (!value.variable.empty()) throw unsupported("takes a variable where a tensor is expected");
  if (!value.texts.empty()) throw unsupported("takes texts, which are not here");
  throw unknown_input();
}

std::string tensorflow_lowering::variable_of(std::string const& name) {
  if (auto const found = variables_.find(name); found != variables_.end()) return found->second;
  auto const key = keys_.find(name);
  if (key == keys_.end())
    throw unsupported("reads the variable '" + shown_name(name) + "', which the checkpoint does not restore");
  auto tensor = read_variable_(key->second);
  tensor.name = unused_name(name);
  return variables_[name] = add_constant(std::move(tensor));
}

onnx_graph tensorflow_lowering::run(tensorflow_signature const& signature) {
  find_variables();
  scope whole;
  for (auto const& node : graph_.nodes)
    if (!whole.nodes.emplace(node.name, &node).second) wrong("it has two nodes '" + shown_name(node.name) + "'");
  for (auto const& input : signature.inputs) {
    onnx_value value;
    value.name = unused_name(input.key);
    value.shape = input.shape;
    value.type = onnx_type_of(input.type);
    if (!input.has_rank) wrong("input '" + shown_name(input.key) + "' does not say how many axes it has");
    if (!whole.nodes.contains(node_of(input.tensor)))
      wrong("its signature has an input '" + shown_name(input.key) + "' that is no node");
    ranks_[value.name] = static_cast<int>(input.shape.size());
    lowered_value as_input;
    as_input.tensor = value.name;
    whole.values[node_of(input.tensor)] = {as_input};
    made_.inputs.push_back(std::move(value));
  }
  std::vector<std::string> wanted;
  for (auto const& output : signature.outputs) wanted.push_back(output.tensor);
  carry_out(whole, wanted);
  if (!problems_.empty()) {
    std::string text = file_ + ": what this model has and stagecraft has not:";
    for (auto const& each : problems_) text += "\n  " + each;
    throw file_error("E5064", text);
  }
  for (auto const& output : signature.outputs) {
    auto const* const value = find(whole, output.tensor);
    if (value == nullptr || value->tensor.empty())
      wrong("output '" + shown_name(output.key) + "' is '" + shown_name(output.tensor) + "', which no node gives");
    if (constants_.contains(value->tensor) || shapes_.contains(value->tensor))
      wrong("output '" + shown_name(output.key) + "' does not depend on the inputs");
    onnx_value made;
    made.name = value->tensor;
    made_.outputs.push_back(std::move(made));
  }
  join_normalizations();
  join_tensordots();
  join_biases_of_heads();
  return std::move(made_);
}

std::string tensorflow_lowering::input(std::size_t index) {
  if (index >= given_.size()) throw unsupported("lacks input " + std::to_string(index));
  return tensor_of(*given_[index]);
}

std::vector<std::string> tensorflow_lowering::all_inputs() {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < given_.size(); ++i) result.push_back(input(i));
  return result;
}

std::optional<onnx_constant> tensorflow_lowering::known(std::size_t index) { return constants_.find(input(index)); }

onnx_constant tensorflow_lowering::required(std::size_t index) {
  auto found = known(index);
  if (!found) throw unsupported("has an input " + std::to_string(index) + " that is not known when the graph is read");
  return *std::move(found);
}

void tensorflow_lowering::set(std::string tensor, std::size_t output) {
  auto& values = scope_->values[node_->name];
  if (values.size() <= output) values.resize(output + 1);
  values[output].tensor = std::move(tensor);
}

}  // namespace stagecraft::tool
