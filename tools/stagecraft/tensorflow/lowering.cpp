// SPDX-License-Identifier: BSD-3-Clause
#include "tensorflow/lowering.hpp"

#include "onnx/onnx_folding.hpp"
#include "onnx/onnx_trace.hpp"
#include "tensorflow/operation_table.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/shown_text.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>

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

onnx_attribute integer_attribute(std::int64_t value) {
  onnx_attribute result;
  result.kind = onnx_kind::integer, result.integer = value;
  return result;
}
onnx_attribute integers_attribute(std::vector<std::int64_t> values) {
  onnx_attribute result;
  result.kind = onnx_kind::integers, result.integers = std::move(values);
  return result;
}
onnx_attribute real_attribute(float value) {
  onnx_attribute result;
  result.kind = onnx_kind::real, result.real = value;
  return result;
}
onnx_attribute text_attribute(std::string value) {
  onnx_attribute result;
  result.kind = onnx_kind::text, result.text = std::move(value);
  return result;
}

int onnx_type_of(std::int64_t type) {
  switch (type) {
    case 1: return 1;    // float32
    case 2: return 11;   // float64
    case 3: return 6;    // int32
    case 4: return 2;    // uint8
    case 5: return 5;    // int16
    case 6: return 3;    // int8
    case 9: return 7;    // int64
    case 10: return 9;   // bool
    case 14: return 16;  // bfloat16
    case 17: return 4;   // uint16
    case 19: return 10;  // float16
    case 22: return 12;  // uint32
    case 23: return 13;  // uint64
    default: return 0;
  }
}

/// A graph or a function's body while it is carried out.
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

/// The nodes that are needed, each after those whose outputs it takes.
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
    if (found == in.nodes.end()) return;  // whoever reads it reports it
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

/// Carries out a loop whose number of iterations is known.
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

/// Follows the nodes that restore variables, which say each variable's key in the checkpoint.
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

std::string tensorflow_lowering::add_constant(stored_tensor tensor) {
  auto name = tensor.name;
  ranks_[name] = static_cast<int>(tensor.shape.size());
  shapes_[name] = tensor.shape;
  if (tensor.size() <= largest_made) constants_.set(name, constant_of(tensor));  // larger ones are weights
  made_.constants.push_back(std::move(tensor));
  return name;
}

std::string tensorflow_lowering::unused_name(std::string name) {
  auto const base = name;
  auto& next = names_[base];  // the number that the next tensor of this name gets
  while (next > 0 && names_.contains(name)) name = base + "_" + std::to_string(next++);
  if (name == base)
    next = 1;
  else
    names_.emplace(name, 1);
  return name;
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

onnx_node const* tensorflow_lowering::giver(std::string const& tensor, std::string_view type) const {
  for (std::size_t i = made_.nodes.size(); i-- > 0 && made_.nodes.size() - i < 16;)  // it is one of the last nodes
    if (made_.nodes[i].type == type && made_.nodes[i].outputs[0] == tensor) return &made_.nodes[i];
  return nullptr;
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

std::optional<std::vector<std::int64_t>> tensorflow_lowering::constant_shape(std::string const& tensor) const {
  if (auto const found = shapes_.find(tensor); found != shapes_.end()) return found->second;
  auto const value = constants_.find(tensor);
  return value ? std::optional(value->shape) : std::nullopt;
}

std::optional<int> tensorflow_lowering::rank(std::string const& tensor) const {
  auto const found = ranks_.find(tensor);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

int tensorflow_lowering::rank_of(std::size_t index) {
  auto const found = rank(input(index));
  if (!found) throw unsupported("has an input whose number of axes is not known when the graph is read");
  return *found;
}

std::vector<std::string> tensorflow_lowering::emit_several(std::string const& type, std::vector<std::string> inputs,
                                                           node_attributes attributes, std::size_t outputs) {
  onnx_node made;
  made.name = full_name_, made.type = type, made.inputs = std::move(inputs);
  for (auto& [name, value] : attributes) made.attributes.insert_or_assign(name, std::move(value));
  for (std::size_t i = 0; i < outputs; ++i) made.outputs.push_back(unused_name(full_name_ + ":" + std::to_string(i)));
  constants_.fold(made);
  find_rank(made);
  auto result = made.outputs;
  made_.nodes.push_back(std::move(made));
  return result;
}

std::string tensorflow_lowering::emit(std::string const& type, std::vector<std::string> inputs,
                                      node_attributes attributes) {
  return emit_several(type, std::move(inputs), std::move(attributes), 1)[0];
}

std::string tensorflow_lowering::constant(onnx_constant const& value) {
  stored_tensor made;
  made.shape = value.shape;
  made.type = value.is_whole ? element_type::int64 : element_type::float32;
  for (double const each : value.values) {
    auto const add = [&](auto number) {
      auto const* const bytes = reinterpret_cast<std::byte const*>(&number);
      made.bytes.insert(made.bytes.end(), bytes, bytes + sizeof number);
    };
    value.is_whole ? add(whole(each)) : add(static_cast<float>(each));
  }
  made.name = unused_name("constant");
  return add_constant(std::move(made));
}

std::string tensorflow_lowering::whole_list(std::vector<std::int64_t> const& values) {
  onnx_constant list{{static_cast<std::int64_t>(values.size())}, {}, true};
  stored_tensor made;
  made.shape = list.shape, made.type = element_type::int64;
  made.bytes.resize(8 * values.size());
  if (!values.empty()) std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.name = unused_name("constant");
  return add_constant(std::move(made));
}

std::string tensorflow_lowering::whole_number(std::int64_t value) {
  return constant({{}, {static_cast<double>(value)}, true});
}

std::string tensorflow_lowering::real_number(double value) { return constant({{}, {value}, false}); }

void tensorflow_lowering::set(std::string tensor, std::size_t output) {
  auto& values = scope_->values[node_->name];
  if (values.size() <= output) values.resize(output + 1);
  values[output].tensor = std::move(tensor);
}

/// Finds the number of axes of a node's outputs, so far as lowerings ask for it.
void tensorflow_lowering::find_rank(onnx_node const& node) {
  auto const set = [&](std::optional<int> rank) {
    if (rank && *rank >= 0)
      for (auto const& each : node.outputs) ranks_[each] = *rank;
  };
  auto const of = [&](std::size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty() ? rank(node.inputs[i]) : std::nullopt;
  };
  if (auto const value = node.outputs.empty() ? std::nullopt : constants_.find(node.outputs[0]))
    return set(static_cast<int>(value->shape.size()));
  auto const& type = node.type;
  auto const plus = [](std::optional<int> rank, std::int64_t more) -> std::optional<int> {
    return rank ? std::optional(*rank + static_cast<int>(more)) : std::nullopt;
  };
  auto const elements = [&](std::size_t i) -> std::optional<std::int64_t> {
    if (i >= node.inputs.size()) return std::nullopt;
    if (auto const value = constants_.find(node.inputs[i])) return static_cast<std::int64_t>(value->values.size());
    auto const list = lengths_.find(node.inputs[i]);
    return list == lengths_.end() ? std::nullopt : std::optional(list->second);
  };
  if (type == "Shape") {
    if (auto const rank = of(0)) lengths_[node.outputs[0]] = *rank;
    return set(1);
  }
  if (type == "Reshape" || type == "Expand" || type == "ConstantOfShape") {
    auto const count = elements(type == "ConstantOfShape" ? 0 : 1);
    auto const rank = count ? std::optional(static_cast<int>(*count)) : std::nullopt;
    return set(type == "Expand" && rank && of(0) ? std::max(*rank, *of(0)) : rank);
  }
  if (type == "Unsqueeze" || type == "Squeeze") {
    auto const axes = elements(1);
    if (!axes) return;
    if (type == "Unsqueeze" && of(0) == 0) lengths_[node.outputs[0]] = 1;
    return set(plus(of(0), type == "Squeeze" ? -*axes : *axes));
  }
  if (type == "Concat") {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      auto const count = of(i) == 1 ? elements(i) : std::nullopt;
      all = count && all >= 0 ? all + *count : -1;
    }
    if (all >= 0) lengths_[node.outputs[0]] = all;
    return set(of(0));
  }
  if (type == "Gather") {
    auto const more = of(1);
    if (auto const count = elements(1); of(0) == 1 && more == 1 && count) lengths_[node.outputs[0]] = *count;
    return set(more ? plus(of(0), *more - 1) : std::nullopt);
  }
  if (type.starts_with("Reduce") || type == "ArgMax" || type == "ArgMin") {
    auto const* const axes = node.find("axes");
    if (node.integer("keepdims", 1) != 0) return set(of(0));
    return set(plus(of(0), axes != nullptr ? -static_cast<std::int64_t>(axes->integers.size()) : -1));
  }
  std::optional<int> most;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].empty()) continue;
    auto const each = of(i);
    if (!each) return;
    most = std::max(most.value_or(0), *each);
  }
  set(most);
}

std::map<std::string, tensorflow_converter> const& tensorflow_converters() {
  static auto const all = [] {
    std::map<std::string, tensorflow_converter> result;
    add_elementwise_lowerings(result);
    add_movement_lowerings(result);
    add_product_lowerings(result);
    add_window_lowerings(result);
    return result;
  }();
  return all;
}

}  // namespace stagecraft::tool
