// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/numpy_functions.hpp"

#include "arrays/bound_arguments.hpp"
#include "arrays/numpy_arrays.hpp"

#include <stagecraft/io/element_type.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <string_view>

namespace stagecraft::tool {

namespace {

using kind = python_value::kind;
using unary_operation = double (*)(double);

[[noreturn]] void fail(std::string text = {}) { throw expression_problem{std::move(text)}; }

/// Turns a value, also a list, into an array.
python_value array_of(python_value value) {
  if (value.what != kind::array) fail();
  value.is_sequence = false;
  return value;
}

constexpr std::pair<std::string_view, unary_operation> unary_functions[]{
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"arcsin", std::asin},
    {"arccos", std::acos},
    {"arctan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"exp", std::exp},
    {"exp2", std::exp2},
    {"expm1", std::expm1},
    {"log", std::log},
    {"log2", std::log2},
    {"log10", std::log10},
    {"log1p", std::log1p},
    {"sqrt", std::sqrt},
    {"cbrt", std::cbrt},
    {"abs", std::fabs},
    {"absolute", std::fabs},
    {"fabs", std::fabs},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"trunc", std::trunc},
    {"rint", std::nearbyint},
    {"square", [](double x) { return x * x; }},
    {"negative", [](double x) { return -x; }},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"sign", [](double x) { return std::isnan(x) ? x : static_cast<double>(x > 0) - static_cast<double>(x < 0); }},
    {"deg2rad", [](double x) { return x * (std::numbers::pi / 180); }},
    {"radians", [](double x) { return x * (std::numbers::pi / 180); }}};

double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

constexpr std::pair<std::string_view, binary_operation> binary_functions[]{
    {"add", [](double a, double b) { return a + b; }},
    {"subtract", [](double a, double b) { return a - b; }},
    {"multiply", [](double a, double b) { return a * b; }},
    {"divide", [](double a, double b) { return a / b; }},
    {"true_divide", [](double a, double b) { return a / b; }},
    {"floor_divide", python_floor_divide},
    {"mod", python_remainder},
    {"remainder", python_remainder},
    {"power", std::pow},
    {"arctan2", std::atan2},
    {"hypot", std::hypot},
    {"maximum", larger},
    {"minimum", smaller}};

/// Reductions of all numbers, or along an axis.
double sum_of(std::vector<double> const& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }
double mean_of(std::vector<double> const& numbers) { return sum_of(numbers) / static_cast<double>(numbers.size()); }
double deviation_of(std::vector<double> const& numbers) {
  double const mean = mean_of(numbers);
  double sum = 0;
  for (double const each : numbers) sum += (each - mean) * (each - mean);
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}
constexpr std::pair<std::string_view, double (*)(std::vector<double> const&)> reductions[]{
    {"sum", sum_of},
    {"mean", mean_of},
    {"std", deviation_of},
    {"prod",
     [](std::vector<double> const& all) { return std::accumulate(all.begin(), all.end(), 1.0, std::multiplies<>()); }},
    {"max", [](std::vector<double> const& all) { return std::accumulate(all.begin(), all.end(), all[0], larger); }},
    {"min", [](std::vector<double> const& all) { return std::accumulate(all.begin(), all.end(), all[0], smaller); }}};

template <class Table>
auto const* find(Table const& table, std::string const& name) {
  auto const found =
      std::find_if(std::begin(table), std::end(table), [&](auto const& each) { return each.first == name; });
  return found == std::end(table) ? nullptr : &found->second;
}

python_value apply(python_value value, unary_operation operation) {
  value = array_of(std::move(value));
  for (double& each : value.numbers) each = operation(each);
  return value;
}

python_value arange(bound_arguments const& given) {
  bool const has_end = given.has(1);
  double const first = has_end ? given.number(0, 0) : 0, end = given.number(has_end ? 1 : 0, 0);
  double const step = given.number(2, 1), length = std::max(0.0, std::ceil((end - first) / step));
  if (step == 0 || !(length <= 1e9)) fail();
  auto result = filled({static_cast<std::int64_t>(length)}, 0);
  for (std::size_t i = 0; i < result.numbers.size(); ++i) result.numbers[i] = first + static_cast<double>(i) * step;
  return converted(std::move(result), given.type(3, "float"));
}

python_value linspace(bound_arguments const& given, bool is_exponent) {
  double const first = given.number(0, 0), end = given.number(1, 0), base = is_exponent ? given.number(5, 10) : 10;
  auto const count = given.whole(2, 50);
  auto result = filled({count}, first);
  auto const parts = static_cast<double>(given.flag(3, true) ? count - 1 : count);
  for (std::size_t i = 1; i < result.numbers.size(); ++i)
    result.numbers[i] =
        static_cast<double>(i) == parts ? end : first + static_cast<double>(i) * ((end - first) / parts);
  if (is_exponent)
    for (double& each : result.numbers) each = std::pow(base, each);
  return converted(std::move(result), given.type(4, "float"));
}

python_value eye(bound_arguments const& given) {
  auto const rows = given.whole(0, 0), columns = given.whole(1, rows), diagonal = given.whole(2, 0);
  auto result = filled({rows, columns}, 0);
  for (std::int64_t row = 0; row < rows; ++row)
    if (auto const column = row + diagonal; column >= 0 && column < columns)
      result.numbers[static_cast<std::size_t>(row * columns + column)] = 1;
  return converted(std::move(result), given.type(3, "float"));
}

std::vector<python_value> arrays_of(python_value const& value) {
  auto items = items_of(value);
  for (auto& item : items) item = array_of(std::move(item));
  return items;
}

python_value expanded(python_value value, std::size_t axis) {
  if (value.what != kind::array || axis > value.shape.size()) fail();
  value.shape.insert(value.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  value.is_sequence = false;
  return value;
}

python_value squeezed(python_value value, std::optional<std::size_t> axis) {
  array_shape left;
  for (std::size_t i = 0; i < value.shape.size(); ++i) {
    bool const goes = axis ? i == *axis : value.shape[i] == 1;
    if (goes && value.shape[i] != 1) fail();
    if (!goes) left.push_back(value.shape[i]);
  }
  return reshaped(value, left);
}

python_value tiled(python_value value, array_shape times) {
  value = array_of(std::move(value));
  while (value.shape.size() < times.size()) value = expanded(std::move(value), 0);
  while (times.size() < value.shape.size()) times.insert(times.begin(), 1);
  for (std::size_t axis = 0; axis < times.size(); ++axis) {
    if (times[axis] < 0 || times[axis] > 1'000'000) fail();
    std::vector<python_value> const copies(static_cast<std::size_t>(times[axis]), value);
    auto shape = value.shape;
    shape[axis] = 0;
    value = copies.empty() ? filled(shape, 0) : concatenated(copies, axis);
  }
  return value;
}

python_value transposed_by(python_value const& value, python_value const* axes) {
  std::vector<std::size_t> order;
  if (axes != nullptr)
    for (auto const axis : shape_of(*axes))
      order.push_back(axis_of(number_value(static_cast<double>(axis)), value.shape.size()));
  else
    for (std::size_t axis = value.shape.size(); axis-- > 0;) order.push_back(axis);
  return transposed(value, order);
}

}  // namespace

double python_remainder(double a, double b) {
  double const rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double python_floor_divide(double a, double b) {
  return b == 0 ? a / b : std::floor((a - python_remainder(a, b)) / b + 0.5);
}

std::optional<double> numpy_constant(std::string const& name) {
  if (name == "pi") return std::numbers::pi;
  if (name == "e") return std::numbers::e;
  if (name == "inf") return std::numeric_limits<double>::infinity();
  if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

python_value call_numpy(std::string const& name, call_arguments given, numpy_random& random) {
  auto const bind = [&](std::string_view parameters, std::size_t required) {
    return bound_arguments(std::move(given), parameters, required);
  };
  if (name.starts_with("random.")) return call_numpy_random(name.substr(7), std::move(given), random);
  if (auto const* const one = find(unary_functions, name)) return apply(bind("x", 1)[0], *one);
  if (auto const* const two = find(binary_functions, name)) {
    auto const own = bind("x1 x2", 2);
    return combine(array_of(own[0]), array_of(own[1]), *two);
  }
  if (auto const* const reduction = find(reductions, name == "amax" ? "max" : name == "amin" ? "min" : name)) {
    auto const own = bind("a axis keepdims", 1);
    auto const value = array_of(own[0]);
    return reduced(value, own.axis(1, value.shape.size()), own.flag(2, false), *reduction);
  }
  if (name == "array" || name == "asarray") {
    auto const own = bind("a dtype", 1);
    return converted(own[0], own.type(1, "float"));
  }
  if (name == "ones" || name == "zeros" || name == "empty") {
    auto const own = bind("shape dtype", 1);
    return converted(filled(shape_of(own[0]), name == "ones" ? 1 : 0), own.type(1, "float"));
  }
  if (name == "full") {
    auto const own = bind("shape fill_value dtype", 2);
    return converted(broadcast_to(own[1], shape_of(own[0])), own.type(2, "float"));
  }
  if (name == "ones_like" || name == "zeros_like") {
    auto const own = bind("a dtype", 1);
    return converted(filled(array_of(own[0]).shape, name == "ones_like" ? 1 : 0), own.type(1, "float"));
  }
  if (name == "full_like") {
    auto const own = bind("a fill_value dtype", 2);
    return converted(broadcast_to(own[1], array_of(own[0]).shape), own.type(2, "float"));
  }
  if (name == "arange") return arange(bind("start stop step dtype", 1));
  if (name == "linspace") return linspace(bind("start stop num endpoint dtype", 2), false);
  if (name == "logspace") return linspace(bind("start stop num endpoint dtype base", 2), true);
  if (name == "eye") return eye(bind("N M k dtype", 1));
  if (name == "identity") {
    auto const own = bind("n dtype", 1);
    return converted(eye({{{own[0]}, {}}, "N M k dtype", 1}), own.type(1, "float"));
  }
  if (name == "clip") {
    auto const own = bind("a a_min a_max", 3);
    return combine(combine(array_of(own[0]), own[1], larger), own[2], smaller);
  }
  if (name == "round" || name == "around") {
    auto const own = bind("a decimals", 1);
    double const scale = std::pow(10.0, static_cast<double>(own.whole(1, 0)));
    auto value = array_of(own[0]);
    for (double& each : value.numbers) each = std::nearbyint(each * scale) / scale;
    return value;
  }
  if (name == "reshape") {
    auto const own = bind("a newshape", 2);
    return reshaped(own[0], shape_of(own[1]));
  }
  if (name == "expand_dims") {
    auto const own = bind("a axis", 2);
    return expanded(own[0], axis_of(own[1], own[0].shape.size() + 1));
  }
  if (name == "squeeze") {
    auto const own = bind("a axis", 1);
    return squeezed(own[0], own.axis(1, own[0].shape.size()));
  }
  if (name == "ravel") return reshaped(bind("a", 1)[0], {-1});
  if (name == "transpose") {
    auto const own = bind("a axes", 1);
    return transposed_by(own[0], own.has(1) ? &own[1] : nullptr);
  }
  if (name == "broadcast_to") {
    auto const own = bind("array shape", 2);
    return broadcast_to(own[0], shape_of(own[1]));
  }
  if (name == "concatenate") {
    auto const own = bind("arrays axis", 1);
    auto const arrays = arrays_of(own[0]);
    if (arrays.empty()) fail();
    return concatenated(arrays, own.has(1) ? axis_of(own[1], arrays[0].shape.size()) : 0);
  }
  if (name == "stack") {
    auto const own = bind("arrays axis", 1);
    auto arrays = arrays_of(own[0]);
    if (arrays.empty()) fail();
    auto const axis = own.has(1) ? axis_of(own[1], arrays[0].shape.size() + 1) : 0;
    for (auto& each : arrays) each = expanded(std::move(each), axis);
    return concatenated(arrays, axis);
  }
  if (name == "tile") {
    auto const own = bind("A reps", 2);
    return tiled(own[0], shape_of(own[1]));
  }
  if (name == "repeat") {
    auto const own = bind("a repeats axis", 2);
    auto const value = array_of(own[0]);
    return repeated(value, own.whole(1, 0), own.axis(2, value.shape.size()));
  }
  for (auto const& facts : io::element_types)  // np.float32(3)
    if (facts.name == name) return converted(bind("x", 1)[0], name);
  fail("np." + name + " is none of the functions that are carried out, which docs/cli.md lists.");
}

python_value call_method(python_value value, std::string const& name, call_arguments given) {
  if (value.what != kind::array) fail();
  if (name == "astype") {
    bound_arguments const own(std::move(given), "dtype", 1);
    return converted(std::move(value), own.type(0, ""));
  }
  if (name == "reshape") {
    if (!given.by_name.empty()) fail();
    return reshaped(value, given.in_order.size() == 1 ? shape_of(given.in_order[0]) : lengths_of(given));
  }
  if (name == "transpose") {
    auto const axes = sequence_of(given.in_order.size() == 1 ? items_of(given.in_order[0]) : given.in_order);
    return transposed_by(value, given.in_order.empty() ? nullptr : &axes);
  }
  if (name == "flatten" || name == "copy" || name == "ravel") {
    bound_arguments const none(std::move(given), "", 0);
    return name == "copy" ? array_of(std::move(value)) : reshaped(value, {-1});
  }
  constexpr std::array alike{"sum", "mean", "std", "prod", "max", "min", "clip", "round", "squeeze", "repeat"};
  if (std::find(alike.begin(), alike.end(), name) == alike.end())
    fail("." + name + "() is none of the methods that are carried out, which docs/cli.md lists.");
  numpy_random none;
  given.in_order.insert(given.in_order.begin(), std::move(value));
  return call_numpy(name, std::move(given), none);
}

}  // namespace stagecraft::tool
