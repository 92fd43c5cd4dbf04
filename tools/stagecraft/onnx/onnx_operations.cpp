// SPDX-License-Identifier: BSD-3-Clause
// Operations that are no layers: those that follow each other become one layer of the model's own, a struct with a
// `call`.
#include "onnx_trace.hpp"
#include "source/identifier.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace stagecraft::tool {

namespace {

source_text list_text(std::vector<int> const& numbers) {
  std::vector<source_text> entries;
  for (int const each : numbers) entries.push_back(number_text(each));
  return comma_list(entries);
}

shape shape_of(std::vector<int> const& lengths) {
  shape result;
  for (int const length : lengths) result.push_back(length);
  return result;
}

/// A layer of operations.
class own_layer : public source_layer {
 public:
  explicit own_layer(operation_layer const& from) : from_(from) {
    own_call = from.call, own_name = from.name;
    default_name = from.name.str();
  }
  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const&) const override {
    if (!std::equal(inputs.begin(), inputs.end(), from_.inputs.begin(), from_.inputs.end()))
      throw unsupported("is called with other shapes");
    return from_.rules;
  }

 private:
  operation_layer from_;
};

/// Names of the words of operations: at most three that differ.
source_text words_of(std::vector<traced_operation const*> const& operations) {
  std::vector<std::string_view> words;
  source_text name;
  for (auto const* each : operations) {
    if (words.size() == 3 || std::find(words.begin(), words.end(), each->word.view()) != words.end()) continue;
    words.push_back(each->word.view());
    name += (name.empty() ? ""_cpp : "_"_cpp) + source_text(each->word);
  }
  return operations.size() == 1 || words.size() == 1 ? "own_"_cpp + name : name;
}

identifier local_name(std::size_t number) {
  constexpr std::string_view letters = "abcdefgh";
  return identifier(number < letters.size() ? std::string(1, letters[number]) : "t" + std::to_string(number));
}

}  // namespace

std::optional<traced_operation> operation_of(traced_layer const& layer) {
  auto const& type = layer.class_name;
  auto const of_two = [&](own_text word, own_text sign) -> std::optional<traced_operation> {
    if (layer.inputs.size() != 2) return std::nullopt;
    return traced_operation{word, [=](auto const& x) { return x[0] + sign + x[1]; }};
  };
  if (type == "Rescaling") {
    auto const factor = layer.config["scale"].get<float>(), summand = layer.config["offset"].get<float>();
    if (!std::isfinite(factor) || !std::isfinite(summand)) return std::nullopt;
    if (factor == 1) return traced_operation{"sum", [=](auto const& x) { return x[0] + " + " + number_text(summand); }};
    if (summand == 0)
      return traced_operation{"product", [=](auto const& x) { return x[0] + " * " + number_text(factor); }};
    return traced_operation{
        "scaled", [=](auto const& x) { return x[0] + " * " + number_text(factor) + " + " + number_text(summand); }};
  }
  if (type == "Reshape") {
    auto const text = list_text(layer.lengths);
    return traced_operation{"shaped", [=](auto const& x) {
                              return "ops.reshape("_cpp + x[0] + ", {" + x[0] + ".length(0), " + text + "})";
                            }};
  }
  if (type == "Permute") {
    std::vector<int> order{0};
    for (auto const& each : layer.config["dims"]) order.push_back(each.get<int>());
    auto const text = list_text(order);
    return traced_operation{"turned", [=](auto const& x) { return "ops.transpose("_cpp + x[0] + ", {" + text + "})"; }};
  }
  if (type == "Multiply") return of_two("product", " * ");
  if (type == "Subtract") return of_two("difference", " - ");
  if (type == "Add") return of_two("sum", " + ");
  if (type == "Activation" && layer.config["activation"].is_string()) {
    auto const name = layer.config["activation"].get<std::string>();
    if (name == "relu") return traced_operation{"relu", [](auto const& x) { return "sc::relu("_cpp + x[0] + ")"; }};
    if (name == "sigmoid")
      return traced_operation{"sigmoid", [](auto const& x) { return "sigmoid("_cpp + x[0] + ")"; }};
    if (name == "tanh") return traced_operation{"tanh", [](auto const& x) { return "tanh("_cpp + x[0] + ")"; }};
    if (name == "exponential") return traced_operation{"exp", [](auto const& x) { return "exp("_cpp + x[0] + ")"; }};
  }
  return std::nullopt;
}

void check_floats(onnx_constant const& constant) {
  for (double const value : constant.values) {
    auto const held = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(held)) throw unsupported("has a constant that is too large for float32");
    if (constant.is_whole && static_cast<double>(held) != value)
      throw unsupported("has a whole number that float32 does not have");
  }
}

traced_tensor onnx_trace::operate(traced_operation operation, std::vector<traced_tensor> const& inputs,
                                  std::vector<int> const& lengths) {
  if (!is_countable(lengths)) throw unsupported("gives more than 2^30 elements");
  if (lengths.size() > shape::max_rank) throw unsupported("has an output of more than seven axes");
  for (int const length : lengths)
    if (length < 1) throw unsupported("has an output without elements");
  for (auto const& each : operation.constants) {
    check_floats(each);
    if (each.values.size() > weight_budget_) wrong("its weights are used by too many nodes");
    weight_budget_ -= each.values.size();
  }
  traced_layer made{own_class, ""};
  for (auto const& each : inputs) made.inputs.push_back(each.layer);
  made.lengths = lengths;
  made.is_word = operation.gives_words.value_or(
      !inputs.empty() &&
      std::all_of(inputs.begin(), inputs.end(), [&](traced_tensor const& each) { return is_word(each); }));
  made.operation = std::make_shared<traced_operation const>(std::move(operation));
  layers_.push_back(std::move(made));
  traced_tensor result{static_cast<int>(layers_.size()) - 1,
                       static_cast<int>(lengths.size()) + (is_one_sample_ ? 0 : 1)};
  result.lengths = lengths;
  result.order.resize(lengths.size() + 1);
  std::iota(result.order.begin(), result.order.end(), is_one_sample_ ? no_axis : 0);
  return result;
}

traced_tensor onnx_trace::complete(traced_tensor const& from) {
  auto x = from;
  if (x.joined_axis >= 0) throw unsupported("joins samples with another axis");
  if (x.fused_axis >= 0) {  // both directions lie side by side in the last axis
    auto lengths = x.lengths;
    lengths.back() /= 2;
    lengths.insert(lengths.end() - 1, 2);
    auto y = call("Reshape", {{"target_shape", lengths}}, {x});
    y.rank = x.rank, y.order = x.order, y.elements = x.elements;
    y.order.insert(y.order.end() - 1, x.fused_axis);
    x = y;
  }
  if (!x.flat_order.empty()) x = in_order(x);
  if (is_one_sample_) {
    std::vector<int> order;
    for (std::size_t i = 1; i < x.order.size(); ++i)
      if (x.order[i] >= 0) order.push_back(x.order[i]);
    bool const is_sorted = std::is_sorted(order.begin(), order.end());
    for (int axis = 0; axis < x.rank; ++axis)
      if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
    if (is_sorted) std::sort(order.begin(), order.end());
    if (order.empty()) order.push_back(unit_axis);
    order.insert(order.begin(), no_axis);
    auto y = ordered(x, order);
    y.rank = from.rank, y.elements = x.elements;
    return y;
  }
  if (static_cast<int>(x.order.size()) == x.rank) return x;
  std::vector<int> order = x.order, all(at(x.rank));
  std::iota(all.begin(), all.end(), 0);
  if (std::is_sorted(order.begin(), order.end())) {
    order = all;
  } else {
    for (int const axis : all)
      if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  }
  if (order[0] != x.order[0]) {  // a new axis stands before that of samples
    order.erase(std::find(order.begin(), order.end(), x.order[0]));
    order.insert(order.begin(), x.order[0]);
  }
  auto y = ordered(x, order);
  y.elements = x.elements;
  return y;
}

traced_tensor onnx_trace::complete_in_order(traced_tensor const& from) {
  auto const x = complete(from);
  if (!is_one_sample_) return in_order(x);
  auto order = x.order;
  std::sort(order.begin() + 1, order.end());
  auto y = ordered(x, order);
  y.elements = x.elements;
  return y;
}

/// An output that does not depend on data, which a call repeats.
traced_tensor onnx_trace::constant_output(onnx_constant value, std::string const& name) {
  auto const what = "output '" + name + "' is a constant ";
  if (!is_one_sample_ || inputs_.empty()) wrong(what + "in a graph whose lengths are open");
  std::vector<int> lengths;
  auto const rank = static_cast<int>(value.shape.size());
  if (rank == 0) value.shape.push_back(1);
  for (auto const length : value.shape) {
    if (length < 1 || length > (1 << 24)) wrong(what + "without elements");
    lengths.push_back(static_cast<int>(length));
  }
  value.shape.insert(value.shape.begin(), 1);
  traced_tensor first{inputs_[0]};
  operation_code const code = [lengths](std::vector<source_text> const& a) {
    return "ops.broadcast("_cpp + a[1] + ", {" + a[0] + ".length(0), " + list_text(lengths) + "})";
  };
  traced_tensor y;
  try {
    y = operate({"constant", code, {std::move(value)}, {"constant"}, false}, {first}, lengths);
  } catch (unsupported const& why) {
    wrong("output '" + name + "' " + why.what());
  }
  y.rank = rank;
  if (rank == 0) y.order = {no_axis, unit_axis};
  return y;
}

void onnx_trace::join_operations() {
  auto const used = uses();
  std::vector<std::vector<int>> users(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (int const input : layers_[i].inputs) users[at(input)].push_back(static_cast<int>(i));
  std::vector<bool> is_output(layers_.size()), taken(layers_.size()), absorbs(layers_.size());
  for (int const output : outputs_) is_output[at(output)] = true;
  std::vector<std::shared_ptr<traced_operation const>> operations(layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    taken[i] = layers_[i].operation != nullptr;
    operations[i] = layers_[i].operation;
    if (taken[i]) continue;
    if (auto found = operation_of(layers_[i])) {
      absorbs[i] = true;
      operations[i] = std::make_shared<traced_operation const>(std::move(*found));
    }
  }
  // A factor beside a hard swish, which networks have with many different numbers, stays a layer: then one struct
  // serves all of them, and both are done where the convolution before them writes its results.
  auto const stays = [&](std::size_t i, int beside) {
    return layers_[i].class_name == "Rescaling" && layers_[at(beside)].operation != nullptr &&
           layers_[at(beside)].operation->word.view() == "hard_swish";
  };
  // Layers beside operations join them: above where nobody else needs them, below where they are the only user.
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    auto const join = [&](std::size_t i) {
      if (!absorbs[i] || taken[i]) return;
      bool const is_above =
          !is_output[i] && !users[i].empty() &&
          std::all_of(users[i].begin(), users[i].end(), [&](int user) { return taken[at(user)] && !stays(i, user); });
      bool const is_residual = layers_[i].class_name == "Add";
      bool const is_below =
          !is_residual && std::any_of(layers_[i].inputs.begin(), layers_[i].inputs.end(), [&](int input) {
            return taken[at(input)] && !stays(i, input) &&
                   used[at(input)] ==
                       static_cast<int>(std::count(layers_[i].inputs.begin(), layers_[i].inputs.end(), input));
          });
      if (is_above || is_below) taken[i] = is_changed = true;
    };
    for (std::size_t i = 0; i < layers_.size(); ++i) join(i);
    for (std::size_t i = layers_.size(); i-- > 0;) join(i);
  }
  std::vector<int> root(layers_.size(), -1);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    if (!taken[i]) continue;
    root[i] = static_cast<int>(i);
    if (is_output[i] || users[i].empty()) continue;
    int const above = root[at(users[i][0])];
    if (above >= 0 && layers_[at(above)].group == layers_[i].group && layers_[at(above)].half == layers_[i].half &&
        std::all_of(users[i].begin(), users[i].end(), [&](int user) { return root[at(user)] == above; }))
      root[i] = above;
  }
  std::map<int, std::vector<int>> members;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (root[i] >= 0) members[root[i]].push_back(static_cast<int>(i));
  for (auto const& [last, each] : members)
    if (std::any_of(each.begin(), each.end(), [&](int i) { return layers_[at(i)].operation != nullptr; }))
      write_operations(each, operations);
  drop_unused();
}

void onnx_trace::write_operations(std::vector<int> const& members,
                                  std::vector<std::shared_ptr<traced_operation const>> const& operations) {
  std::vector<int> inputs;
  for (int const each : members)
    for (int const input : layers_[at(each)].inputs)
      if (!std::binary_search(members.begin(), members.end(), input) &&
          std::find(inputs.begin(), inputs.end(), input) == inputs.end())
        inputs.push_back(input);
  operation_layer made;
  std::map<int, source_text> names;
  std::array<own_text, 3> constexpr parameters{"x", "y", "z"};
  std::vector<source_text> parameter_list;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    made.inputs.push_back(shape_of(layers_[at(inputs[i])].lengths));
    bool const is_list = inputs.size() > parameters.size();
    names[inputs[i]] = is_list ? "in["_cpp + number_text(i) + "]" : source_text(parameters[is_list ? 0 : i]);
    if (!is_list) parameter_list.push_back("auto "_cpp + source_text(parameters[i]));
  }
  if (inputs.size() > parameters.size()) parameter_list.push_back("sc::tensor_list in"_cpp);
  source_text body;
  std::vector<stored_array> weights;
  std::vector<traced_operation const*> words;
  std::set<std::string> taken;
  std::size_t locals = 0;
  std::set<int> between;  // one shape after another: the last counts
  auto const is_shaped = [&](int member) {
    return std::binary_search(members.begin(), members.end(), member) &&
           operations[at(member)]->word.view() == "shaped";
  };
  auto const used = uses();
  for (int const each : members)
    if (int const below = layers_[at(each)].inputs.empty() ? -1 : layers_[at(each)].inputs[0];
        below >= 0 && is_shaped(each) && is_shaped(below) && used[at(below)] == 1) {
      layers_[at(each)].inputs = layers_[at(below)].inputs;
      between.insert(below);
    }
  for (int const each : members) {
    if (between.contains(each)) continue;
    auto const& operation = *operations[at(each)];
    words.push_back(&operation);
    std::vector<source_text> operands;
    for (int const input : layers_[at(each)].inputs) operands.push_back(names.at(input));
    for (std::size_t i = 0; i < operation.constants.size(); ++i) {
      auto const& constant = operation.constants[i];
      auto name = operation.names[i];
      for (int copy = 1; !taken.insert(name).second; ++copy) name = operation.names[i] + "_" + std::to_string(copy);
      std::vector<source_text> lengths;
      for (auto const length : constant.shape) lengths.push_back(number_text(length));
      operands.push_back("w"_cpp + number_text(weights.size() + 1));
      body += wrap("    auto const "_cpp + operands.back() + " = ops.weight({.name = " + string_literal(name) +
                   ", .shape = {" + comma_list(lengths) + "}, .trainable = false});");
      made.rules.weights.push_back({name, constant.shape, false});
      weights.push_back({name, constant.shape, {constant.values.begin(), constant.values.end()}});
    }
    auto const code = operation.code(operands);
    if (each == members.back()) {
      body += wrap("    return "_cpp + code + ";");
      break;
    }
    auto const name = local_name(locals++);
    body += wrap("    auto const "_cpp + name + " = " + code + ";");
    names[each] = name;
  }
  bool const names_ops = body.view().find("ops.") != std::string_view::npos;
  made.call = "  constexpr auto call(auto&"_cpp + (names_ops ? " ops"_cpp : ""_cpp) + ", " +
              comma_list(parameter_list) + ") const {\n" + body + "  }\n";
  made.name = words_of(words);
  auto& layer = layers_[at(members.back())];
  std::vector<std::string> nodes;
  for (int const each : members)
    nodes.insert(nodes.end(), layers_[at(each)].nodes.begin(), layers_[at(each)].nodes.end());
  layer.nodes = std::move(nodes);
  made.rules.output = shape_of(layer.lengths);
  layer.class_name = own_class, layer.config = {{"operations", own_layers_.size()}};
  layer.inputs = inputs, layer.weights = std::move(weights), layer.operation = nullptr;
  own_layers_.push_back(std::move(made));
}

std::unique_ptr<source_layer> onnx_trace::make(layer_config const& config) const {
  if (config.class_name != own_class) return make_layer(config);
  return std::make_unique<own_layer>(own_layers_.at(config.options.at("operations").get<std::size_t>()));
}

}  // namespace stagecraft::tool
