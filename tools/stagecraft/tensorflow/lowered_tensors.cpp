// SPDX-License-Identifier: BSD-3-Clause
// The tensors of a lowered graph: nodes and constants that lowerings add, and their numbers of axes.
#include "onnx/onnx_folding.hpp"
#include "tensorflow/lowering.hpp"

#include <algorithm>
#include <cstring>

namespace stagecraft::tool {

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

std::optional<element_type> element_type_of(std::int32_t type) {
  switch (type) {
    case 1: return element_type::float32;
    case 2: return element_type::float64;
    case 3: return element_type::int32;
    case 4: return element_type::uint8;
    case 5: return element_type::int16;
    case 6: return element_type::int8;
    case 9: return element_type::int64;
    case 10: return element_type::boolean;
    case 14: return element_type::bfloat16;
    case 17: return element_type::uint16;
    case 19: return element_type::float16;
    case 22: return element_type::uint32;
    case 23: return element_type::uint64;
    default: return std::nullopt;
  }
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

onnx_node const* tensorflow_lowering::giver(std::string const& tensor, std::string_view type) const {
  for (std::size_t i = made_.nodes.size(); i-- > 0 && made_.nodes.size() - i < 16;)  // it is one of the last nodes
    if (made_.nodes[i].type == type && made_.nodes[i].outputs[0] == tensor) return &made_.nodes[i];
  return nullptr;
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

/// Finds the number of axes of a node's outputs as far as lowerings ask for it.
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
