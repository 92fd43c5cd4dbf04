// SPDX-License-Identifier: BSD-3-Clause
#include "onnx_constants.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace stagecraft::tool {

namespace {

/// Arrays that nodes make have at most this many elements; others are weights.
constexpr std::int64_t largest_made = 1 << 16;

std::int64_t count_of(std::vector<std::int64_t> const& shape) {
  std::int64_t count = 1;
  for (auto const length : shape) {
    if (length < 0 || (length > 0 && count > (std::int64_t{1} << 40) / length)) return -1;
    count *= length;
  }
  return count;
}

/// A number of C++'s integers, however large the double is.
std::int64_t whole(double value) {
  constexpr double most = 9e18;
  if (std::isnan(value)) return 0;
  return static_cast<std::int64_t>(std::clamp(value, -most, most));
}

template <class T>
void append_whole(stored_tensor const& from, std::vector<double>& to) {
  for (std::size_t i = 0; i + sizeof(T) <= from.bytes.size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, from.bytes.data() + i, sizeof element);
    to.push_back(static_cast<double>(element));
  }
}

onnx_constant constant_of(stored_tensor const& from) {
  onnx_constant result{from.shape, {}, !io::is_floating(from.type)};
  result.values.reserve(static_cast<std::size_t>(from.size()));
  if (from.type == element_type::int64) {
    append_whole<std::int64_t>(from, result.values);
  } else if (from.type == element_type::int32) {
    append_whole<std::int32_t>(from, result.values);
  } else {
    for (float const value : io::to_floats(from)) result.values.push_back(value);
  }
  return result;
}

std::optional<onnx_constant> elementwise(onnx_constant const& a, onnx_constant const& b, std::string const& type) {
  bool const is_scalar = b.values.size() == 1;
  if (!is_scalar && a.values.size() == 1 && (type == "Add" || type == "Mul")) return elementwise(b, a, type);
  if (!is_scalar && a.shape != b.shape) return std::nullopt;
  auto result = a;
  if (b.shape.size() > a.shape.size()) result.shape.insert(result.shape.begin(), b.shape.size() - a.shape.size(), 1);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    double const x = a.values[i], y = b.values[is_scalar ? 0 : i];
    if (x == batch_marker || y == batch_marker) {  // a multiple of the number of samples
      bool const is_multiple =
          type == "Mul" && std::min(x, y) == batch_marker && std::max(x, y) >= 1 && std::max(x, y) <= 1 << 20;
      if (!is_multiple) return std::nullopt;
    }
    double z = 0;
    if (type == "Pow") z = std::pow(x, y);
    if (type == "Equal") z = x == y ? 1 : 0;
    if (type == "Add") z = x + y;
    if (type == "Sub") z = x - y;
    if (type == "Mul") z = x * y;
    if (type == "Div" || type == "Mod") {
      if (y == 0) return std::nullopt;
      z = type == "Mod" ? x - y * std::floor(x / y) : a.is_whole ? std::trunc(x / y) : x / y;
    }
    if (type == "fmod") {  // which has the sign of x, where Mod has that of y
      if (y == 0) return std::nullopt;
      z = std::fmod(x, y);
    }
    result.values[i] = z;
  }
  return result;
}

/// A number with fewer digits, to the nearest even one. Below `least`, the exponent of the smallest normal number, all
/// numbers have the same distance.
double rounded(double value, int digits, int least) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  int const scale = digits - std::max(exponent, least);
  return std::ldexp(std::nearbyint(std::ldexp(value, scale)), -scale);
}

/// Numbers of another type; nothing where they are not those of that type.
std::optional<onnx_constant> cast(onnx_constant from, std::int64_t type) {
  constexpr std::int64_t float32 = 1, boolean = 9, float16 = 10, float64 = 11, bfloat16 = 16;
  static std::map<std::int64_t, std::pair<double, double>> const ranges{
      {2, {0, 255}},          {3, {-128, 127}},      {4, {0, 65535}},  {5, {-32768, 32767}}, {6, {-0x1p31, 0x1p31 - 1}},
      {7, {-0x1p63, 0x1p63}}, {12, {0, 0x1p32 - 1}}, {13, {0, 0x1p64}}};
  from.is_whole = type != float32 && type != float16 && type != float64 && type != bfloat16;
  auto const range = ranges.find(type);
  if (from.is_whole && type != boolean && range == ranges.end()) return std::nullopt;
  for (double& value : from.values) {
    if (value == batch_marker && range != ranges.end()) continue;
    if (type == boolean) value = value != 0 ? 1 : 0;
    if (type == float32) value = static_cast<double>(static_cast<float>(value));
    if (type == float16 || type == bfloat16) {
      value = rounded(value, type == float16 ? 11 : 8, type == float16 ? -13 : -125);
      if (type == float16 && std::abs(value) > 65504) return std::nullopt;
    }
    if (range == ranges.end()) continue;
    value = std::trunc(value);
    if (!(value >= range->second.first && value <= range->second.second)) return std::nullopt;  // or no number
  }
  return from;
}

std::optional<std::vector<std::int64_t>> shape_for(std::vector<std::int64_t> wanted,
                                                   std::vector<std::int64_t> const& from) {
  std::int64_t const count = count_of(from), most = std::int64_t{1} << 40;
  if (count < 0) return std::nullopt;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && i < from.size()) wanted[i] = from[i];
    if (wanted[i] == -1)
      open = static_cast<std::int64_t>(i);
    else if (wanted[i] < 0 || wanted[i] > most / known)
      return std::nullopt;
    else
      known *= std::max<std::int64_t>(wanted[i], 1);
  }
  if (open >= 0) wanted[static_cast<std::size_t>(open)] = count / known;
  return count_of(wanted) == count ? std::optional(wanted) : std::nullopt;
}

std::optional<onnx_constant> sliced(onnx_constant from, std::vector<std::optional<onnx_constant>> const& inputs) {
  if (inputs.size() < 3 || !inputs[1] || !inputs[2]) return std::nullopt;
  auto const starts = inputs[1]->integers(), ends = inputs[2]->integers();
  auto const rank = static_cast<std::int64_t>(from.shape.size());
  auto const given = [&](std::size_t input) {
    return inputs.size() > input && inputs[input] ? inputs[input]->integers() : std::vector<std::int64_t>();
  };
  auto const axes = given(3), steps = given(4);
  if (starts.size() > from.shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < starts.size() && i < ends.size(); ++i) {
    auto axis = i < axes.size() ? axes[i] : static_cast<std::int64_t>(i);
    auto const step = i < steps.size() ? steps[i] : 1;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || step == 0 || std::abs(step) > largest_made) return std::nullopt;
    auto const length = from.shape[static_cast<std::size_t>(axis)];
    if (length > largest_made) return std::nullopt;
    auto const place = [&](std::int64_t at) {
      if (at < 0) at = at < -length ? -1 : at + length;
      return std::clamp<std::int64_t>(at, step < 0 ? -1 : 0, step < 0 ? length - 1 : length);
    };
    auto const end = step < 0 && ends[i] < -length ? std::int64_t{-1} : place(ends[i]);
    std::vector<std::int64_t> taken;
    for (auto at = place(starts[i]); step > 0 ? at < end : at > end; at += step) taken.push_back(at);
    std::int64_t inner = 1;
    for (auto k = static_cast<std::size_t>(axis) + 1; k < from.shape.size(); ++k) inner *= from.shape[k];
    std::vector<double> values;
    auto const outer = length * inner == 0 ? 0 : static_cast<std::int64_t>(from.values.size()) / (length * inner);
    for (std::int64_t o = 0; o < outer; ++o)
      for (auto const at : taken) {
        auto const first = from.values.begin() + (o * length + at) * inner;
        values.insert(values.end(), first, first + inner);
      }
    from.values = std::move(values);
    from.shape[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(taken.size());
  }
  return from;
}

std::optional<onnx_constant> gathered(onnx_constant const& from, onnx_constant const& indices, std::int64_t axis) {
  if (axis != 0 || from.shape.size() != 1 || indices.shape.size() > 1) return std::nullopt;
  onnx_constant result{indices.shape, {}, from.is_whole};
  for (auto index : indices.integers()) {
    if (index < 0) index += from.shape[0];
    if (index < 0 || index >= from.shape[0]) return std::nullopt;
    result.values.push_back(from.values[static_cast<std::size_t>(index)]);
  }
  return result;
}

/// Axes of length one that Squeeze takes away and Unsqueeze puts in change the shape only.
std::optional<onnx_constant> with_unit_axes(onnx_constant from, std::vector<std::int64_t> axes, bool adds) {
  auto const rank = static_cast<std::int64_t>(from.shape.size() + (adds ? axes.size() : 0));
  if (rank > 16) return std::nullopt;
  for (auto& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  std::sort(axes.begin(), axes.end());
  if (adds) {
    for (auto const axis : axes) {
      if (axis > static_cast<std::int64_t>(from.shape.size())) return std::nullopt;
      from.shape.insert(from.shape.begin() + axis, 1);
    }
    return from;
  }
  std::vector<std::int64_t> shape;
  for (std::int64_t i = 0; i < rank; ++i) {
    bool const is_named = axes.empty() || std::binary_search(axes.begin(), axes.end(), i);
    if (is_named && from.shape[static_cast<std::size_t>(i)] == 1) continue;
    if (is_named && !axes.empty()) return std::nullopt;
    shape.push_back(from.shape[static_cast<std::size_t>(i)]);
  }
  from.shape = shape;
  return from;
}

std::optional<onnx_constant> joined(std::vector<std::optional<onnx_constant>> const& inputs) {
  onnx_constant result{{0}, {}, true};
  for (auto const& each : inputs) {
    if (!each || each->shape.size() != 1) return std::nullopt;
    result.values.insert(result.values.end(), each->values.begin(), each->values.end());
    result.is_whole = result.is_whole && each->is_whole;
  }
  result.shape[0] = static_cast<std::int64_t>(result.values.size());
  return result.shape[0] > largest_made ? std::nullopt : std::optional(result);
}

std::optional<onnx_constant> value_of(onnx_node const& node) {
  if (auto const* value = node.find("value"); value != nullptr && value->tensor) return constant_of(*value->tensor);
  if (auto const* value = node.find("value_float")) return onnx_constant{{}, {value->real}, false};
  if (auto const* value = node.find("value_int")) return onnx_constant{{}, {static_cast<double>(value->integer)}, true};
  auto const list = [](auto const& numbers, bool is_whole) {
    onnx_constant result{{static_cast<std::int64_t>(numbers.size())}, {}, is_whole};
    for (auto const each : numbers) result.values.push_back(static_cast<double>(each));
    return result;
  };
  if (auto const* value = node.find("value_floats")) return list(value->reals, false);
  if (auto const* value = node.find("value_ints")) return list(value->integers, true);
  return std::nullopt;
}

/// What is on the diagonal of a matrix and above it, or below it; zeros elsewhere.
std::optional<onnx_constant> triangle(onnx_constant from, bool is_upper) {
  if (from.shape.size() != 2) return std::nullopt;
  auto const columns = static_cast<std::size_t>(from.shape[1]);
  for (std::size_t i = 0; i < from.values.size(); ++i)
    if (is_upper ? i % columns < i / columns : i % columns > i / columns) from.values[i] = 0;
  return from;
}

/// One of two numbers, or of arrays of the same shape, at each place.
std::optional<onnx_constant> chosen(onnx_constant const& which, onnx_constant const& a, onnx_constant const& b) {
  auto const fits = [&](onnx_constant const& of) { return of.values.size() == 1 || of.shape == which.shape; };
  if (!fits(a) || !fits(b)) return std::nullopt;
  onnx_constant result{which.shape, {}, a.is_whole && b.is_whole};
  for (std::size_t i = 0; i < which.values.size(); ++i) {
    auto const& from = which.values[i] != 0 ? a : b;
    result.values.push_back(from.values[from.values.size() == 1 ? 0 : i]);
  }
  return result;
}

/// An array of one value. Where its shape has the number of samples, one row stands for all.
std::optional<onnx_constant> filled(std::vector<double> lengths, double value, bool is_whole) {
  onnx_constant result{{}, {}, is_whole};
  for (double& length : lengths) result.shape.push_back(length == batch_marker ? 1 : whole(length));
  auto const count = count_of(result.shape);
  if (count < 0 || count > largest_made) return std::nullopt;
  result.values.assign(static_cast<std::size_t>(count), value);
  return result;
}

}  // namespace

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

onnx_constants::onnx_constants(onnx_graph const& graph) {
  for (auto const& each : graph.constants) {
    stored_.insert_or_assign(each.name, &each);
    budget_ += 4 * static_cast<std::size_t>(each.size());
  }
  for (auto const& node : graph.nodes)  // those that are nodes themselves take their own elements
    if (node.type == "Constant") budget_ += 5 * elements_of(node);
  largest_read_ = budget_;
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
  auto const& type = node.type;
  if (type == "Constant") return value_of(node);
  std::vector<std::optional<onnx_constant>> inputs;
  for (auto const& each : node.inputs) inputs.push_back(each.empty() ? std::nullopt : find(each));
  if (inputs.empty() || !inputs[0]) return std::nullopt;
  auto& first = *inputs[0];
  auto const second = inputs.size() > 1 ? inputs[1] : std::nullopt;
  if (type == "Identity") return first;
  if (type == "Cast") return cast(first, node.integer("to", 1));
  if (type == "Transpose") {
    auto const rank = static_cast<std::int64_t>(first.shape.size());
    std::vector<int> order;
    for (auto i = rank; i-- > 0;) order.push_back(static_cast<int>(i));
    if (auto const* perm = node.find("perm")) {
      order.assign(perm->integers.begin(), perm->integers.end());
      std::vector<int> sorted = order, expected(first.shape.size());
      std::sort(sorted.begin(), sorted.end());
      std::iota(expected.begin(), expected.end(), 0);
      if (sorted != expected) return std::nullopt;
    }
    return transposed(first, order);
  }
  if (type == "Reshape" && second) {
    auto const wanted = second->integers();
    bool const is_empty = node.integer("allowzero", 0) != 0 && std::count(wanted.begin(), wanted.end(), 0) > 0;
    auto const shape = shape_for(wanted, first.shape);
    if (!shape || is_empty) return std::nullopt;
    first.shape = *shape;
    return first;
  }
  if (type == "Squeeze" || type == "Unsqueeze")
    return with_unit_axes(first, second ? second->integers() : node.integers("axes", {}), type == "Unsqueeze");
  if (type == "Shape") {
    onnx_constant result{{static_cast<std::int64_t>(first.shape.size())}, {}, true};
    for (auto const length : first.shape) result.values.push_back(static_cast<double>(length));
    return asked_for(node, std::move(result));
  }
  if (first.values.size() > static_cast<std::size_t>(largest_made)) return std::nullopt;
  if (type == "Concat") return joined(inputs);
  if (type == "Slice") return sliced(first, inputs);
  if (type == "Gather" && second) return gathered(first, *second, node.integer("axis", 0));
  if (type == "Sqrt") {
    for (double& value : first.values) value = std::sqrt(value);
    return first;
  }
  if ((type == "Add" || type == "Sub" || type == "Mul" || type == "Div" || type == "Mod" || type == "Pow" ||
       type == "Equal") &&
      second)
    return elementwise(first, *second, type == "Mod" && node.integer("fmod", 0) != 0 ? "fmod" : type);
  if (type == "Trilu" && (node.inputs.size() < 2 || node.inputs[1].empty()))
    return triangle(first, node.integer("upper", 1) != 0);
  if (type == "Where" && second && inputs.size() > 2 && inputs[2]) return chosen(first, *second, *inputs[2]);
  if (type == "ConstantOfShape") {
    auto const* value = node.find("value");
    auto const given = value != nullptr && value->tensor ? constant_of(*value->tensor) : onnx_constant{{1}, {0}, false};
    return given.values.empty() ? std::nullopt : filled(first.values, given.values[0], given.is_whole);
  }
  if (type == "Expand" && second && first.values.size() == 1)
    return filled(second->values, first.values[0], first.is_whole);
  return std::nullopt;
}

}  // namespace stagecraft::tool
