// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace stagecraft::tool {

std::int64_t whole(double value) {
  constexpr double most = 9e18;
  if (std::isnan(value)) return 0;
  return static_cast<std::int64_t>(std::clamp(value, -most, most));
}

namespace {

template <class T>
void append(stored_tensor const& from, std::vector<double>& to) {
  for (std::size_t i = 0; i + sizeof(T) <= from.bytes.size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, from.bytes.data() + i, sizeof element);
    to.push_back(static_cast<double>(element));
  }
}

}  // namespace

std::optional<element_type> stored_type_of(std::int32_t number) {
  switch (number) {
    case 1: return element_type::float32;
    case 2: return element_type::uint8;
    case 3: return element_type::int8;
    case 4: return element_type::uint16;
    case 5: return element_type::int16;
    case 6: return element_type::int32;
    case 7: return element_type::int64;
    case 9: return element_type::boolean;
    case 10: return element_type::float16;
    case 11: return element_type::float64;
    case 12: return element_type::uint32;
    case 13: return element_type::uint64;
    case 16: return element_type::bfloat16;
    default: return std::nullopt;
  }
}

onnx_constant constant_of(stored_tensor const& from) {
  onnx_constant result{from.shape, {}, !io::is_floating(from.type)};
  result.values.reserve(static_cast<std::size_t>(from.size()));
  if (from.type == element_type::int64) {
    append<std::int64_t>(from, result.values);
  } else if (from.type == element_type::int32) {
    append<std::int32_t>(from, result.values);
  } else if (from.type == element_type::uint32) {
    append<std::uint32_t>(from, result.values);
  } else if (from.type == element_type::uint64) {
    append<std::uint64_t>(from, result.values);
  } else if (from.type == element_type::float64) {
    (void)io::to_floats(from);  // refuses numbers that float32 does not have
    append<double>(from, result.values);
    result.is_double = true;
  } else {
    for (float const value : io::to_floats(from)) result.values.push_back(value);
  }
  return result;
}

std::vector<std::int64_t> onnx_constant::integers() const {
  std::vector<std::int64_t> result;
  for (double const value : values) result.push_back(whole(value));
  return result;
}

onnx_constant transposed(onnx_constant const& from, std::vector<int> const& order) {
  auto const rank = from.shape.size();
  onnx_constant result{from.shape, std::vector<double>(from.values.size()), from.is_whole};
  std::vector<std::size_t> strides(rank, 1), step(rank);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(from.shape[i]);
  for (std::size_t i = 0; i < rank; ++i) {
    result.shape[i] = from.shape[static_cast<std::size_t>(order[i])];
    step[i] = strides[static_cast<std::size_t>(order[i])];
  }
  std::vector<std::int64_t> at(rank);
  std::size_t place = 0;
  for (double& value : result.values) {
    value = from.values[place];
    for (std::size_t i = rank; i-- > 0;) {
      place += step[i];
      if (++at[i] < result.shape[i]) break;
      place -= step[i] * static_cast<std::size_t>(result.shape[i]);
      at[i] = 0;
    }
  }
  return result;
}

onnx_constants::onnx_constants(onnx_graph const& graph) { add(graph); }

void onnx_constants::add(onnx_graph const& graph) {
  for (auto const& each : graph.constants) {
    stored_.insert_or_assign(each.name, &each);
    budget_ += 4 * static_cast<std::size_t>(each.size());
  }
  for (auto const& node : graph.nodes)  // Constant nodes count with their own elements
    if (node.type == "Constant") budget_ += 5 * elements_of(node);
  largest_read_ = std::max(largest_read_, budget_);
}

std::size_t elements_of(onnx_node const& constant) {
  auto const* const value = constant.find("value");
  return value != nullptr && value->tensor ? static_cast<std::size_t>(value->tensor->size()) : 0;
}

onnx_constant asked_for(onnx_node const& node, onnx_constant lengths) {
  auto const rank = static_cast<std::int64_t>(lengths.values.size());
  auto const place = [&](char const* which, std::int64_t by_default) {
    auto const at = node.integer(which, by_default);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  auto const start = place("start", 0), end = std::max(place("end", rank), start);
  lengths.values.erase(lengths.values.begin() + end, lengths.values.end());
  lengths.values.erase(lengths.values.begin(), lengths.values.begin() + start);
  lengths.shape = {end - start};
  return lengths;
}

std::size_t onnx_constants::size(std::string const& name) const {
  if (auto const made = made_.find(name); made != made_.end()) return made->second.values.size();
  auto const stored = stored_.find(name);
  return stored == stored_.end() ? 0 : static_cast<std::size_t>(stored->second->size());
}

std::optional<onnx_constant> onnx_constants::find(std::string const& name) const {
  if (auto const made = made_.find(name); made != made_.end()) return made->second;
  auto const stored = stored_.find(name);
  return stored == stored_.end() ? std::nullopt : std::optional(constant_of(*stored->second));
}

bool onnx_constants::fold(onnx_node const& node) {
  if (node.outputs.empty() || !node.domain.empty()) return false;
  std::size_t read = 0;
  for (auto const& input : node.inputs) {
    if (!input.empty() && !contains(input)) return false;
    read += size(input);
  }
  if (read > largest_read_) return false;
  auto result = result_of(node);
  if (!result || result->values.size() > budget_) return false;
  budget_ -= result->values.size();
  set(node.outputs[0], std::move(*result));
  return true;
}

std::optional<onnx_constant> onnx_constants::result_of(onnx_node const& node) const {
  std::vector<std::optional<onnx_constant>> inputs;
  for (auto const& each : node.inputs) inputs.push_back(each.empty() ? std::nullopt : find(each));
  return folded(node, inputs);
}

}  // namespace stagecraft::tool
