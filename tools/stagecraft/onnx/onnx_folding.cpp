// SPDX-License-Identifier: BSD-3-Clause
// Computes nodes of constants: files compute shapes, masks and tables with nodes of their own.
#include "onnx_folding.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace stagecraft::tool {

namespace {

/// Applies a function at each place of arrays, with broadcasting. The number of samples stays unknown.
template <class Function>
std::optional<onnx_constant> mapped(std::vector<onnx_constant const*> const& of, Function const& function) {
  onnx_constant result;
  for (auto const* each : of) {
    if (each->shape.size() > result.shape.size())
      result.shape.insert(result.shape.begin(), each->shape.size() - result.shape.size(), 1);
    auto const shift = result.shape.size() - each->shape.size();
    for (std::size_t i = 0; i < each->shape.size(); ++i) {
      auto& length = result.shape[shift + i];
      if (each->shape[i] == length || each->shape[i] == 1) continue;
      if (length != 1) return std::nullopt;
      length = each->shape[i];
    }
  }
  auto const count = count_of(result.shape);
  if (count < 0 || count > largest_made) return std::nullopt;
  std::vector<double> numbers(of.size());
  for (std::int64_t at = 0; at < count; ++at) {
    for (std::size_t k = 0; k < of.size(); ++k) {
      auto const& shape = of[k]->shape;
      std::int64_t place = 0, rest = at, stride = 1;
      for (std::size_t i = result.shape.size(); i-- > 0;) {
        auto const index = rest % result.shape[i];
        rest /= result.shape[i];
        auto const shift = result.shape.size() - shape.size();
        if (i < shift) continue;
        if (shape[i - shift] != 1) place += index * stride;
        stride *= shape[i - shift];
      }
      numbers[k] = of[k]->values[static_cast<std::size_t>(place)];
    }
    std::optional<double> const value = function(numbers);
    if (!value) return std::nullopt;
    result.values.push_back(*value);
  }
  return result;
}

double to_even(double x) { return std::nearbyint(x); }

std::optional<onnx_constant> of_one(std::string const& type, onnx_constant const& x) {
  static std::map<std::string, std::function<double(double)>> const all{
      {"Abs", [](double v) { return std::abs(v); }},
      {"Ceil", [](double v) { return std::ceil(v); }},
      {"Cos", [](double v) { return std::cos(v); }},
      {"Erf", [](double v) { return std::erf(v); }},
      {"Exp", [](double v) { return std::exp(v); }},
      {"Floor", [](double v) { return std::floor(v); }},
      {"Log", [](double v) { return std::log(v); }},
      {"Neg", [](double v) { return -v; }},
      {"Not", [](double v) { return v == 0 ? 1.0 : 0.0; }},
      {"Reciprocal", [](double v) { return 1 / v; }},
      {"Relu", [](double v) { return v > 0 ? v : 0; }},
      {"Round", to_even},
      {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"Sign", [](double v) { return v > 0   ? 1.0
                                     : v < 0 ? -1.0
                                             : 0.0; }},
      {"Sin", [](double v) { return std::sin(v); }},
      {"Sqrt", [](double v) { return std::sqrt(v); }},
      {"Tanh", [](double v) { return std::tanh(v); }}};
  auto const found = all.find(type);
  if (found == all.end()) return std::nullopt;
  auto result = mapped({&x}, [&](std::vector<double> const& v) -> std::optional<double> {
    return is_of_samples(v[0]) ? std::nullopt : std::optional(found->second(v[0]));
  });
  if (result) result->is_whole = x.is_whole;
  return result;
}

/// A quotient or a remainder; whole numbers are divided towards zero.
std::optional<double> divided(std::string const& type, double x, double y, bool is_whole) {
  if (type == "Div" && !is_whole) return x / y;
  if (y == 0) return std::nullopt;
  if (type == "Div") return std::trunc(x / y);
  return type == "fmod" ? std::fmod(x, y) : x - y * std::floor(x / y);
}

std::optional<onnx_constant> elementwise(std::vector<onnx_constant const*> const& of, std::string const& type) {
  static std::vector<std::string> const comparisons{"Equal", "Less",           "Greater", "And",
                                                    "Or",    "GreaterOrEqual", "Xor",     "LessOrEqual"};
  bool const is_truth = std::find(comparisons.begin(), comparisons.end(), type) != comparisons.end();
  bool const is_whole = std::all_of(of.begin(), of.end(), [](auto const* each) { return each->is_whole; });
  // Doubles have all whole numbers to 2^53; larger ones are not computed.
  auto const exact = [&](double value) {
    return is_whole && !(std::abs(value) <= 0x1p53) ? std::nullopt : std::optional(value);
  };
  auto const of_two = [&](double x, double y) -> std::optional<double> {
    if (is_of_samples(x) || is_of_samples(y)) {  // a multiple of the number of samples
      auto const factor = std::max(x, y);
      return type == "Mul" && factor >= 1 && factor <= 1 << 20 && factor == std::floor(factor) ? std::optional(x * y)
                                                                                               : std::nullopt;
    }
    if (type == "Add" || type == "Sum" || type == "Mean") return exact(x + y);
    if (type == "Sub") return exact(x - y);
    if (type == "Mul") return exact(x * y);
    if (type == "Div" || type == "Mod" || type == "fmod") return divided(type, x, y, of[0]->is_whole);
    if (type == "Pow") return exact(std::pow(x, y));
    if (type == "Min") return std::min(x, y);
    if (type == "Max") return std::max(x, y);
    if (type == "Equal") return x == y ? 1 : 0;
    if (type == "Less") return x < y ? 1 : 0;
    if (type == "Greater") return x > y ? 1 : 0;
    if (type == "LessOrEqual") return x <= y ? 1 : 0;
    if (type == "GreaterOrEqual") return x >= y ? 1 : 0;
    if (type == "And") return x != 0 && y != 0 ? 1 : 0;
    if (type == "Or") return x != 0 || y != 0 ? 1 : 0;
    if (type == "Xor") return (x != 0) != (y != 0) ? 1 : 0;
    return std::nullopt;
  };
  // An operator that is not here has no result either for one array, or for arrays without elements.
  if (!of_two(1, 1)) return std::nullopt;
  auto result = mapped(of, [&](std::vector<double> const& v) {
    std::optional<double> value = v[0];
    for (std::size_t i = 1; i < v.size() && value; ++i) value = of_two(*value, v[i]);
    return type == "Mean" && value ? std::optional(*value / static_cast<double>(v.size())) : value;
  });
  if (result) result->is_whole = is_truth || is_whole;
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

/// Converts numbers to another type; none if the type does not have them.
std::optional<onnx_constant> cast(onnx_constant from, std::int64_t type) {
  constexpr std::int64_t float32 = 1, boolean = 9, float16 = 10, float64 = 11, bfloat16 = 16;
  static std::map<std::int64_t, std::pair<double, double>> const ranges{
      {2, {0, 255}},          {3, {-128, 127}},      {4, {0, 65535}},  {5, {-32768, 32767}}, {6, {-0x1p31, 0x1p31 - 1}},
      {7, {-0x1p63, 0x1p63}}, {12, {0, 0x1p32 - 1}}, {13, {0, 0x1p64}}};
  from.is_whole = type != float32 && type != float16 && type != float64 && type != bfloat16;
  auto const range = ranges.find(type);
  if (from.is_whole && type != boolean && range == ranges.end()) return std::nullopt;
  for (double& value : from.values) {
    if (counts_samples(value) && type != boolean) continue;
    if (type == boolean) value = value != 0 ? 1 : 0;
    if (type == float32) value = static_cast<double>(static_cast<float>(value));
    if (type == float16 || type == bfloat16) {
      value = rounded(value, type == float16 ? 11 : 8, type == float16 ? -13 : -125);
      if (type == float16 && std::isfinite(value) && std::abs(value) > 65504) return std::nullopt;
    }
    if (range == ranges.end()) continue;
    value = std::trunc(value);
    if (!(value >= range->second.first && value <= range->second.second)) return std::nullopt;  // NaN, too
  }
  return from;
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

/// The triangle of a matrix on and above its diagonal, or on and below it; zeros elsewhere.
std::optional<onnx_constant> triangle(onnx_constant from, bool is_upper, std::int64_t k) {
  if (from.values.empty()) return from;
  if (from.shape.size() != 2) return std::nullopt;
  auto const columns = static_cast<std::size_t>(from.shape[1]);
  auto const place = [&](std::size_t i) {
    return static_cast<std::int64_t>(i % columns) - static_cast<std::int64_t>(i / columns);
  };
  for (std::size_t i = 0; i < from.values.size(); ++i)
    if (is_upper ? place(i) < k : place(i) > k) from.values[i] = 0;
  return from;
}

/// An array filled with one value. If its shape has the number of samples, one row stands for all.
std::optional<onnx_constant> filled(std::vector<double> lengths, double value, bool is_whole) {
  onnx_constant result{{}, {}, is_whole};
  for (double& length : lengths) result.shape.push_back(length == batch_marker ? 1 : whole(length));
  auto const count = count_of(result.shape);
  if (count < 0 || count > largest_made) return std::nullopt;
  result.values.assign(static_cast<std::size_t>(count), value);
  return result;
}

/// An array in a larger shape. Where that has the number of samples, one row stands for all.
std::optional<onnx_constant> expanded(onnx_constant const& from, onnx_constant const& shape) {
  onnx_constant zeros{{}, {}, from.is_whole};
  for (double const length : shape.values) zeros.shape.push_back(is_of_samples(length) ? 1 : whole(length));
  auto const count = count_of(zeros.shape);
  if (count < 0 || count > largest_made) return std::nullopt;
  zeros.values.assign(static_cast<std::size_t>(count), 0);
  auto result = mapped({&from, &zeros}, [](std::vector<double> const& v) { return std::optional(v[0]); });
  if (result) result->is_whole = from.is_whole;
  return result;
}

/// The product of two small matrices.
std::optional<onnx_constant> multiplied(onnx_constant const& a, onnx_constant const& b) {
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0]) return std::nullopt;
  auto const rows = a.shape[0], depth = a.shape[1], columns = b.shape[1];
  constexpr std::int64_t most_products = 1 << 24;
  if (auto const count = count_of({rows, depth, columns}); count < 0 || count > most_products) return std::nullopt;
  onnx_constant result{{rows, columns}, {}, a.is_whole && b.is_whole};
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += a.values[static_cast<std::size_t>(i * depth + k)] * b.values[static_cast<std::size_t>(k * columns + j)];
      result.values.push_back(sum);
    }
  return result;
}

std::optional<onnx_constant> range(inputs_list const& inputs) {
  if (inputs.size() != 3 || !inputs[1] || !inputs[2]) return std::nullopt;
  for (auto const& each : inputs)
    if (each->values.size() != 1 || is_of_samples(each->values[0])) return std::nullopt;
  double const start = inputs[0]->values[0], limit = inputs[1]->values[0], step = inputs[2]->values[0];
  auto const count = std::max(std::ceil((limit - start) / step), 0.0);
  if (!(count <= static_cast<double>(largest_made))) return std::nullopt;
  onnx_constant result{{static_cast<std::int64_t>(count)}, {}, inputs[0]->is_whole};
  for (std::int64_t i = 0; i < result.shape[0]; ++i) result.values.push_back(start + static_cast<double>(i) * step);
  return result;
}

bool has_samples(std::optional<onnx_constant> const& x) {
  return x && std::any_of(x->values.begin(), x->values.end(), counts_samples);
}

std::optional<onnx_constant> computed(onnx_node const& node, inputs_list const& inputs) {
  auto const& type = node.type;
  if (type == "Constant") return value_of(node);
  if (inputs.empty() || !inputs[0]) return std::nullopt;
  auto first = *inputs[0];
  auto const second = inputs.size() > 1 ? inputs[1] : std::nullopt;
  if (type == "Identity") return first;
  if (type == "DequantizeLinear") return dequantized(node, inputs);
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
    if (first.samples_axis >= 0) result.values[static_cast<std::size_t>(first.samples_axis)] = batch_marker;
    return asked_for(node, std::move(result));
  }
  if (first.values.size() > static_cast<std::size_t>(largest_made)) return std::nullopt;
  if (type == "Concat") return joined(inputs, node.integer("axis", 0));
  if (type == "Slice") {
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (has_samples(inputs[i])) return std::nullopt;
    return sliced(first, inputs);
  }
  if (type == "Gather" && second) return gathered(first, *second, node.integer("axis", 0));
  if (type == "Range") return range(inputs);
  if (type == "Size") {
    double const unit = first.samples_axis >= 0 ? batch_marker : 1;
    return onnx_constant{{}, {static_cast<double>(first.values.size()) * unit}, true};
  }
  if (type == "HannWindow" || type == "HammingWindow" || type == "BlackmanWindow") return window_of(node, first);
  if (type == "ReduceSum" || type == "ReduceProd" || type == "ReduceMax" || type == "ReduceMin" || type == "ReduceMean")
    return reduced(node, first, second);
  if (type == "Trilu") {
    if (inputs.size() > 1 && (!second || second->values.size() != 1 || has_samples(second))) return std::nullopt;
    return triangle(first, node.integer("upper", 1) != 0, second ? whole(second->values[0]) : 0);
  }
  if (type == "Where" && second && inputs.size() > 2 && inputs[2]) {
    auto result = mapped({&first, &*second, &*inputs[2]},
                         [](std::vector<double> const& v) { return std::optional(v[0] != 0 ? v[1] : v[2]); });
    if (result) result->is_whole = second->is_whole && inputs[2]->is_whole;
    return result;
  }
  if (type == "ConstantOfShape") {
    auto const* value = node.find("value");
    auto const given = value != nullptr && value->tensor ? constant_of(*value->tensor) : onnx_constant{{1}, {0}, false};
    return given.values.empty() ? std::nullopt : filled(first.values, given.values[0], given.is_whole);
  }
  if (type == "MatMul" && second && !has_samples(inputs[0]) && !has_samples(second)) return multiplied(first, *second);
  if (type == "Expand" && second) return expanded(first, *second);
  std::vector<onnx_constant const*> all;
  for (auto const& each : inputs) {
    if (!each) return std::nullopt;
    all.push_back(&*each);
  }
  if (all.size() == 1)
    if (auto result = of_one(type, first)) return result;
  return elementwise(all, type == "Mod" && node.integer("fmod", 0) != 0 ? "fmod" : type);
}

}  // namespace

std::optional<onnx_constant> folded(onnx_node const& node, inputs_list const& inputs) {
  auto result = computed(node, inputs);
  if (!result) return result;
  auto const samples_axis = samples_axis_of(node, inputs, *result);
  if (!samples_axis) return std::nullopt;
  result->samples_axis = *samples_axis;
  if (result->is_whole) return result;
  constexpr std::int64_t float64 = 11;
  auto const is_double = [](std::optional<onnx_constant> const& each) { return each && each->is_double; };
  if (node.type == "Cast")
    result->is_double = node.integer("to", 1) == float64;
  else if (!inputs.empty())
    result->is_double = std::any_of(inputs.begin(), inputs.end(), is_double);
  if (result->is_double) return result;
  // Each node rounds as the file's types do: a length may be the whole part of a product.
  for (double& value : result->values)
    if (!counts_samples(value)) value = static_cast<double>(static_cast<float>(value));
  return result;
}

}  // namespace stagecraft::tool
