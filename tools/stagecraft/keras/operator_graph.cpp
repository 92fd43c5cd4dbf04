// SPDX-License-Identifier: BSD-3-Clause
#include "keras/operator_graph.hpp"

#include "onnx/onnx_trace.hpp"
#include "tensorflow/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace stagecraft::tool {

namespace {

constexpr std::int64_t float_type = static_cast<std::int64_t>(tensorflow_type::float32),
                       long_type = static_cast<std::int64_t>(tensorflow_type::int64),
                       bool_type = static_cast<std::int64_t>(tensorflow_type::boolean);

tensorflow_attribute attribute_of(tensorflow_kind kind) {
  tensorflow_attribute result;
  result.kind = kind;
  return result;
}

std::string text_at(json const& of, char const* key) {
  return of.is_object() && of.contains(key) && of[key].is_string() ? of[key].get<std::string>() : std::string();
}

bool is_flat(json const& value) {
  if (!value.is_array()) return false;
  return std::none_of(value.begin(), value.end(), [](json const& each) { return each.is_structured(); });
}

/// Tuples, arrays and numbers of NumPy and Keras as lists and numbers.
json plain(json const& value, int depth = 0) {
  constexpr int most_depth = 16;
  if (depth > most_depth) throw unsupported("has arguments that are nested too deep");
  if (value.is_object()) {
    auto const class_name = text_at(value, "class_name");
    if (class_name == "__tuple__" && value.contains("items")) return plain(value["items"], depth + 1);
    bool const is_array = class_name == "__tensor__" || class_name == "__numpy__";
    if (is_array && value.contains("config") && value["config"].is_object() && value["config"].contains("value"))
      return value["config"]["value"];
    return value;
  }
  if (!value.is_array() || is_flat(value)) return value;
  auto result = json::array();
  for (auto const& each : value) result.push_back(plain(each, depth + 1));
  return result;
}

/// The numbers of nested lists, all of which are alike.
void collect_numbers(json const& value, std::size_t depth, stored_tensor& to, std::vector<double>& numbers,
                     bool& is_whole) {
  if (value.is_array()) {
    auto const length = static_cast<std::int64_t>(value.size());
    if (depth == to.shape.size()) to.shape.push_back(length);
    if (depth > 8 || to.shape[depth] != length || length == 0) throw unsupported("has lists of different lengths");
    for (auto const& each : value) collect_numbers(each, depth + 1, to, numbers, is_whole);
    return;
  }
  if (depth != to.shape.size()) throw unsupported("has lists of different depths");
  if (value.is_boolean()) return numbers.push_back(value.get<bool>() ? 1 : 0);
  if (!value.is_number())
    throw unsupported("has an argument that is no number: " + value.dump(-1, ' ', true).substr(0, 60));
  is_whole = is_whole && value.is_number_integer();
  numbers.push_back(value.get<double>());
}

}  // namespace

tensorflow_attribute truth_attribute_of(bool value) {
  auto result = attribute_of(tensorflow_kind::truth);
  result.integer = value ? 1 : 0;
  return result;
}
tensorflow_attribute number_attribute_of(std::int64_t value) {
  auto result = attribute_of(tensorflow_kind::integer);
  result.integer = value;
  return result;
}
tensorflow_attribute real_attribute_of(double value) {
  auto result = attribute_of(tensorflow_kind::real);
  result.real = static_cast<float>(value);
  return result;
}
tensorflow_attribute text_attribute_of(std::string value) {
  auto result = attribute_of(tensorflow_kind::text);
  result.text = std::move(value);
  return result;
}
tensorflow_attribute type_attribute_of(std::int64_t number) {
  auto result = attribute_of(tensorflow_kind::type);
  result.integer = number;
  return result;
}
tensorflow_attribute list_attribute_of(std::vector<std::int64_t> values) {
  auto result = attribute_of(tensorflow_kind::whole_numbers);
  result.integers = std::move(values);
  return result;
}

bool is_operator(json const& entry) {
  auto const class_name = text_at(entry, "class_name"), module = text_at(entry, "module");
  if (module.starts_with("keras.src.ops.") || module.starts_with("keras.ops.")) return true;
  return class_name == "TFOpLambda" || class_name == "SlicingOpLambda";
}

std::string function_of_operator(json const& entry, json& named) {
  auto const class_name = text_at(entry, "class_name");
  named = json::object();
  auto const config = entry.find("config");
  bool const has_config = config != entry.end() && config->is_object();
  if (class_name == "TFOpLambda" || class_name == "SlicingOpLambda") {
    if (has_config)
      for (auto const& [key, value] : config->items())
        if (key != "name" && key != "trainable" && key != "dtype" && key != "function") named[key] = value;
    auto name = has_config ? text_at(*config, "function") : std::string();
    if (name.starts_with("compat.v1.")) name.erase(0, 10);
    return "tf." + name;
  }
  if (has_config)
    for (auto const& [key, value] : config->items())
      if (key != "name" && !(key == "dtype" && value.is_object())) named[key] = value;
  return "keras." + class_name;
}

operand operator_graph::add_input(shape const& of, operand_kind kind) {
  tensorflow_node node;
  node.name = "input:" + std::to_string(signature_.inputs.size());
  std::replace(node.name.begin(), node.name.end(), ':', '_');
  node.type = "Placeholder";
  std::vector<std::int64_t> lengths{-1};
  for (int const length : of) lengths.push_back(length);
  node.attributes["dtype"] = type_attribute_of(float_type);
  auto as_shape = attribute_of(tensorflow_kind::shape);
  as_shape.integers = lengths;
  node.attributes["shape"] = as_shape;
  auto const rank = static_cast<int>(lengths.size());
  operand result{node.name, kind, rank, lengths};
  signature_.inputs.push_back({node.name, node.name + ":0", float_type, std::move(lengths), true});
  graph_.nodes.push_back(std::move(node));
  return result;
}

operand operator_graph::add_constant(stored_tensor tensor, operand_kind kind) {
  tensorflow_node node;
  node.name = "constant_of_" + std::to_string(constants_++);
  node.type = "Const";
  tensor.name = node.name;
  operand result{node.name, kind, static_cast<int>(tensor.shape.size())};
  auto value = attribute_of(tensorflow_kind::tensor);
  bool const is_whole = tensor.type == element_type::int64;
  value.element_type = static_cast<std::int32_t>(is_whole ? long_type : float_type);
  value.tensor = std::move(tensor);
  node.attributes["dtype"] = type_attribute_of(is_whole ? long_type : float_type);
  node.attributes["value"] = std::move(value);
  graph_.nodes.push_back(std::move(node));
  return result;
}

operand operator_graph::whole_list(std::vector<std::int64_t> const& values) {
  stored_tensor tensor;
  tensor.type = element_type::int64;
  tensor.shape = {static_cast<std::int64_t>(values.size())};
  tensor.bytes.resize(8 * values.size());
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return add_constant(std::move(tensor), operand_kind::whole);
}

operand operator_graph::whole_number(std::int64_t value) {
  stored_tensor tensor;
  tensor.type = element_type::int64;
  tensor.bytes.resize(8);
  std::memcpy(tensor.bytes.data(), &value, 8);
  return add_constant(std::move(tensor), operand_kind::whole);
}

operand operator_graph::real_number(double value) { return constant(json(value)); }

operand operator_graph::constant(json const& value) {
  stored_tensor tensor;
  std::vector<double> numbers;
  bool is_whole = true;
  collect_numbers(value, 0, tensor, numbers, is_whole);
  tensor.type = element_type::float32;
  for (double const each : numbers) {
    auto const held = static_cast<float>(each);
    if (std::isfinite(each) && !std::isfinite(held)) throw unsupported("has a number that is too large for float32");
    if (is_whole && static_cast<double>(held) != each)
      throw unsupported("has a whole number that float32 does not have");
    auto const* const bytes = reinterpret_cast<std::byte const*>(&held);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof held);
  }
  return add_constant(std::move(tensor), is_whole ? operand_kind::whole : operand_kind::real);
}

operand operator_graph::emit(std::string const& type, std::vector<operand> const& inputs,
                             std::map<std::string, tensorflow_attribute, std::less<>> attributes) {
  tensorflow_node node;
  node.name = next_ == 0 ? name_ : name_ + "/" + std::to_string(next_);
  ++next_;
  node.type = type;
  operand result{node.name};
  result.rank = 0;
  bool is_whole = !inputs.empty();
  for (auto const& each : inputs) {
    node.inputs.push_back(each.node);
    is_whole = is_whole && each.kind == operand_kind::whole;
    result.rank = result.rank && each.rank ? std::optional(std::max(*result.rank, *each.rank)) : std::nullopt;
  }
  if (is_whole) result.kind = operand_kind::whole;
  node.attributes = std::move(attributes);
  graph_.nodes.push_back(std::move(node));
  return result;
}

operand operator_graph::as_real(operand const& x) {
  if (x.kind != operand_kind::truth) return x;
  auto result = emit("Cast", {x}, {{"SrcT", type_attribute_of(bool_type)}, {"DstT", type_attribute_of(float_type)}});
  result.kind = operand_kind::real;
  return result;
}

operand operator_graph::as_truth(operand const& x) {
  if (x.kind == operand_kind::truth) return x;
  auto result = emit("Cast", {x}, {{"SrcT", type_attribute_of(float_type)}, {"DstT", type_attribute_of(bool_type)}});
  result.kind = operand_kind::truth;
  return result;
}

std::vector<operand> operator_graph::add(operator_call const& call) {
  auto const& rules = written_operators();
  auto const rule = rules.find(call.function);
  if (rule == rules.end()) throw unsupported("is " + diagnostics::shown_name(call.function) + ", which is not here");
  name_ = clean_name(call.name);
  next_ = 0;
  operator_arguments arguments(*this, call, rule->second.parameters);
  auto outputs = rule->second.write(*this, arguments);
  arguments.check_all_read();
  return outputs;
}

source_model operator_graph::read(std::vector<operand> const& outputs, std::string const& file) const {
  auto graph = graph_;
  auto signature = signature_;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    auto tensor = outputs[i].node;
    if (outputs[i].kind == operand_kind::truth) {  // layers after it take numbers
      tensorflow_node cast;
      cast.name = "number_" + std::to_string(i);
      cast.type = "Cast";
      cast.inputs = {tensor};
      cast.attributes["SrcT"] = type_attribute_of(bool_type);
      cast.attributes["DstT"] = type_attribute_of(float_type);
      tensor = cast.name;
      graph.nodes.push_back(std::move(cast));
    }
    signature.outputs.push_back({"output_" + std::to_string(i), tensor, float_type, {}, true});
  }
  auto const no_variables = [&](std::string const&) -> stored_tensor { throw unsupported("reads a variable"); };
  auto const lowered = tensorflow_lowering(graph, file, no_variables).run(signature);
  return read_onnx(lowered, file, {});
}

operator_arguments::operator_arguments(operator_graph& graph, operator_call const& call, std::string_view names)
    : graph_(graph), call_(call) {
  while (!names.empty()) {
    auto const end = std::min(names.find(' '), names.size());
    names_.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  values_.resize(names_.size());
  is_read_.resize(names_.size());
  if (call.positional.is_array())
    for (std::size_t i = 0; i < call.positional.size(); ++i) {
      bool const is_first = names_[0].starts_with('*');
      if (is_first || (names_.back().starts_with('*') && i + 1 >= names_.size())) {
        auto& all = is_first ? values_.front() : values_.back();
        if (all.is_null()) all = json::array();
        all.push_back(plain(call.positional[i]));
        continue;
      }
      if (i >= names_.size()) throw unsupported("has " + std::to_string(call.positional.size()) + " arguments");
      values_[i] = plain(call.positional[i]);
    }
  if (!call.named.is_object()) return;
  for (auto const& [key, value] : call.named.items()) {
    if (key == "name") continue;
    auto const found = std::find(names_.begin(), names_.end(), key);
    if (found == names_.end()) {
      if (value.is_null()) continue;
      throw unsupported("has an argument '" + diagnostics::shown_name(key) + "', which is not here");
    }
    auto& to = values_[static_cast<std::size_t>(found - names_.begin())];
    if (to.is_null()) to = plain(value);
  }
}

json const& operator_arguments::at(std::size_t place) {
  static json const nothing;
  if (place >= values_.size()) return nothing;
  is_read_[place] = true;
  return values_[place];
}

operand operator_arguments::operand_of(json const& value) {
  if (value.is_object() && value.contains(tensor_key)) {
    auto const number = value[tensor_key].get<std::size_t>();
    if (number >= call_.given.size()) throw unsupported("has a tensor that is none");
    return call_.given[number];
  }
  if (value.is_null()) throw unsupported("lacks an argument");
  if (value.is_array() && value.size() == 1 && value[0].is_object() && value[0].contains(tensor_key))
    return operand_of(value[0]);
  return graph_.constant(value);
}

bool operator_arguments::is_tensor(std::size_t place) {
  auto const& value = at(place);
  return value.is_object() && value.contains(tensor_key);
}

operand operator_arguments::tensor(std::size_t place) { return operand_of(at(place)); }

std::vector<operand> operator_arguments::tensors(std::size_t place) {
  auto const& value = at(place);
  if (!value.is_array()) return {operand_of(value)};
  std::vector<operand> result;
  for (auto const& each : value) result.push_back(operand_of(each));
  return result;
}

std::optional<std::vector<std::int64_t>> operator_arguments::integers(std::size_t place) {
  auto const& value = at(place);
  if (value.is_null()) return std::nullopt;
  auto const list = value.is_array() ? value : json::array({value});
  std::vector<std::int64_t> result;
  for (auto const& each : list) {
    if (!each.is_number_integer() && !each.is_null())
      throw unsupported("argument '" + names_[place] + "' is " + value.dump(-1, ' ', true).substr(0, 60));
    result.push_back(each.is_null() ? -1 : each.get<std::int64_t>());
  }
  return result;
}

std::int64_t operator_arguments::integer(std::size_t place, std::int64_t by_default) {
  auto const& value = at(place);
  if (value.is_null()) return by_default;
  if (!value.is_number_integer())
    throw unsupported("argument '" + names_[place] + "' is " + value.dump(-1, ' ', true).substr(0, 60));
  return value.get<std::int64_t>();
}

double operator_arguments::real(std::size_t place, double by_default) {
  auto const& value = at(place);
  if (value.is_null()) return by_default;
  if (!value.is_number())
    throw unsupported("argument '" + names_[place] + "' is " + value.dump(-1, ' ', true).substr(0, 60));
  return value.get<double>();
}

bool operator_arguments::truth(std::size_t place, bool by_default) {
  auto const& value = at(place);
  if (value.is_null()) return by_default;
  if (!value.is_boolean())
    throw unsupported("argument '" + names_[place] + "' is " + value.dump(-1, ' ', true).substr(0, 60));
  return value.get<bool>();
}

std::string operator_arguments::text(std::size_t place, std::string_view by_default) {
  auto const& value = at(place);
  if (value.is_null()) return std::string(by_default);
  if (!value.is_string())
    throw unsupported("argument '" + names_[place] + "' is " + value.dump(-1, ' ', true).substr(0, 60));
  return value.get<std::string>();
}

void operator_arguments::check_all_read() const {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (!is_read_[i] && !values_[i].is_null())
      throw unsupported("has an argument '" + names_[i] + "' (" + values_[i].dump(-1, ' ', true).substr(0, 60) +
                        "), which is not here");
}

}  // namespace stagecraft::tool
