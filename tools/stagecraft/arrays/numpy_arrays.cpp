// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/numpy_arrays.hpp"

#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace stagecraft::tool {

namespace {

using kind = python_value::kind;

/// The most numbers of an expression: those of a large batch of images.
constexpr std::int64_t most_numbers = std::int64_t{1} << 28;

std::string shape_text(array_shape const& shape) {
  std::string text;
  for (auto const length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] void fail(std::string text = {}) { throw expression_problem{std::move(text)}; }

std::vector<double> const& numbers_of(python_value const& value) {
  if (value.what != kind::array) fail();
  return value.numbers;
}

/// The distance between the numbers along each axis of `to`; 0 where `from` is repeated.
std::vector<std::size_t> steps_of(array_shape const& from, array_shape const& to) {
  std::vector<std::size_t> steps(to.size());
  std::size_t step = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto const length = from[from.size() - 1 - i];
    if (length != 1) steps[to.size() - 1 - i] = step;
    step *= static_cast<std::size_t>(length);
  }
  return steps;
}

/// Calls `visit(at)` for each number of `shape`, with its place by `steps`.
template <class Visit>
void walk(array_shape const& shape, std::vector<std::size_t> const& steps, Visit const& visit) {
  std::vector<std::int64_t> index(shape.size());
  std::size_t at = 0;
  for (std::int64_t left = count_numbers(shape); left > 0; --left) {
    visit(at);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += steps[axis];
      if (++index[axis] < shape[axis]) break;
      at -= steps[axis] * static_cast<std::size_t>(shape[axis]);
      index[axis] = 0;
    }
  }
}

array_shape broadcast_shape(array_shape const& a, array_shape const& b) {
  array_shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto const of = [&](array_shape const& shape) { return i < shape.size() ? shape[shape.size() - 1 - i] : 1; };
    if (of(a) != of(b) && of(a) != 1 && of(b) != 1)
      fail("Arrays of shapes " + shape_text(a) + " and " + shape_text(b) + " do not go together.");
    result[result.size() - 1 - i] = of(a) == 1 ? of(b) : of(a);
  }
  return result;
}

/// Numbers before, along and after an axis.
struct axis_sizes {
  std::size_t before = 1, along = 1, after = 1;

  axis_sizes(array_shape const& shape, std::size_t axis) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      (i < axis ? before : i == axis ? along : after) *= static_cast<std::size_t>(shape[i]);
  }
};

/// The nearest number of a floating-point type with this many bits, half to even.
double rounded_to(double value, int bits, int least_exponent) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  (void)std::frexp(value, &exponent);
  int const shift = bits - std::max(exponent, least_exponent);
  return std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
}

}  // namespace

std::int64_t count_numbers(array_shape const& shape) {
  std::int64_t size = 1;
  for (auto const length : shape) {
    if (length < 0 || (length > 0 && size > most_numbers / length)) fail();
    size *= length;
  }
  return size;
}

python_value number_value(double value) {
  python_value result;
  result.numbers = {value};
  return result;
}

python_value filled(array_shape const& shape, double value) {
  python_value result;
  result.shape = shape;
  result.numbers.assign(static_cast<std::size_t>(count_numbers(shape)), value);
  return result;
}

double scalar_of(python_value const& value) {
  if (value.what != kind::array || !value.shape.empty()) fail();
  return value.numbers[0];
}
std::int64_t whole_of(python_value const& value) {
  double const number = scalar_of(value);
  if (number != std::floor(number) || std::abs(number) > 1e9) fail();
  return static_cast<std::int64_t>(number);
}
array_shape shape_of(python_value const& value) {
  if (value.what != kind::array || value.shape.size() > 1) fail();
  array_shape shape;
  for (double const length : value.numbers) shape.push_back(whole_of(number_value(length)));
  return shape;
}
std::size_t axis_of(python_value const& value, std::size_t rank) {
  auto const given = whole_of(value), count = static_cast<std::int64_t>(rank);
  if (given < -count || given >= count)
    fail("Axis " + std::to_string(given) + " is none of an array with " + std::to_string(rank) + " axes.");
  return static_cast<std::size_t>(given < 0 ? given + count : given);
}

python_value sequence_of(std::vector<python_value> items) {
  bool const are_arrays = std::all_of(items.begin(), items.end(), [&](auto const& item) {
    return item.what == kind::array && item.shape == items[0].shape;
  });
  python_value result;
  if (!are_arrays) {
    result.what = kind::list;
    result.items = std::move(items);
    return result;
  }
  result.is_sequence = true;
  result.shape.push_back(static_cast<std::int64_t>(items.size()));
  if (!items.empty()) result.shape.insert(result.shape.end(), items[0].shape.begin(), items[0].shape.end());
  for (auto const& item : items) {
    if (item.numbers.size() > static_cast<std::size_t>(most_numbers) - result.numbers.size()) fail();
    result.numbers.insert(result.numbers.end(), item.numbers.begin(), item.numbers.end());
  }
  return result;
}

std::vector<python_value> items_of(python_value const& value) {
  if (value.what == kind::list) return value.items;
  if (value.what != kind::array || value.shape.empty()) fail();
  array_shape const shape(value.shape.begin() + 1, value.shape.end());
  auto const size = static_cast<std::size_t>(count_numbers(shape));
  std::vector<python_value> items;
  for (std::int64_t i = 0; i < value.shape[0]; ++i) {
    auto& item = items.emplace_back();
    item.shape = shape;
    auto const first = value.numbers.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size);
    item.numbers.assign(first, first + static_cast<std::ptrdiff_t>(size));
  }
  return items;
}

python_value combine(python_value const& a, python_value const& b, binary_operation operation) {
  if (a.what != kind::array || b.what != kind::array) fail();
  if ((a.is_sequence || a.shape.empty()) && (b.is_sequence || b.shape.empty()) && (a.is_sequence || b.is_sequence))
    fail();
  python_value result = filled(broadcast_shape(a.shape, b.shape), 0);
  std::size_t i = 0;
  walk(result.shape, steps_of(a.shape, result.shape), [&](std::size_t at) { result.numbers[i++] = a.numbers[at]; });
  i = 0;
  walk(result.shape, steps_of(b.shape, result.shape), [&](std::size_t at) {
    result.numbers[i] = operation(result.numbers[i], b.numbers[at]);
    ++i;
  });
  return result;
}

python_value broadcast_to(python_value const& value, array_shape const& shape) {
  (void)numbers_of(value);
  auto result = filled(shape, 0);
  if (broadcast_shape(value.shape, shape) != shape) fail();
  std::size_t i = 0;
  walk(shape, steps_of(value.shape, shape), [&](std::size_t at) { result.numbers[i++] = value.numbers[at]; });
  return result;
}

python_value reshaped(python_value const& value, array_shape shape) {
  auto const size = static_cast<std::int64_t>(numbers_of(value).size());
  if (auto const open = std::find(shape.begin(), shape.end(), -1); open != shape.end()) {
    *open = 1;
    auto const others = count_numbers(shape);
    if (others == 0 || size % others != 0) fail();
    *open = size / others;
  }
  if (count_numbers(shape) != size) fail();
  auto result = value;
  result.shape = std::move(shape);
  result.is_sequence = false;
  return result;
}

python_value transposed(python_value const& value, std::vector<std::size_t> const& axes) {
  (void)numbers_of(value);
  auto const rank = value.shape.size();
  std::vector<bool> is_there(rank);
  std::vector<std::size_t> steps(rank), own(rank, 1);
  for (std::size_t axis = rank; axis-- > 1;) own[axis - 1] = own[axis] * static_cast<std::size_t>(value.shape[axis]);
  array_shape shape;
  if (axes.size() != rank) fail();
  for (std::size_t i = 0; i < rank; ++i) {
    if (is_there[axes[i]]) fail();
    is_there[axes[i]] = true;
    shape.push_back(value.shape[axes[i]]);
    steps[i] = own[axes[i]];
  }
  auto result = filled(shape, 0);
  std::size_t i = 0;
  walk(shape, steps, [&](std::size_t at) { result.numbers[i++] = value.numbers[at]; });
  return result;
}

python_value concatenated(std::vector<python_value> const& arrays, std::size_t axis) {
  if (arrays.empty()) fail();
  auto shape = arrays[0].shape;
  if (axis >= shape.size()) fail();
  shape[axis] = 0;
  for (auto const& each : arrays) {
    auto others = each.shape;
    if (each.what != kind::array || others.size() != shape.size()) fail();
    auto const length = std::exchange(others[axis], shape[axis]);
    if (others != shape) fail();
    shape[axis] += length;
  }
  auto result = filled(shape, 0);
  auto to = result.numbers.begin();
  axis_sizes const sizes(shape, axis);
  for (std::size_t row = 0; row < sizes.before; ++row)
    for (auto const& each : arrays) {
      auto const count = static_cast<std::size_t>(each.shape[axis]) * sizes.after;
      to = std::copy_n(each.numbers.begin() + static_cast<std::ptrdiff_t>(row * count), count, to);
    }
  return result;
}

python_value repeated(python_value const& value, std::int64_t count, std::optional<std::size_t> axis) {
  if (count < 0) fail();
  if (!axis) return repeated(reshaped(value, {-1}), count, 0);
  auto shape = value.shape;
  if (count > most_numbers || shape[*axis] > most_numbers) fail();
  shape[*axis] *= count;
  auto result = filled(shape, 0);
  auto to = result.numbers.begin();
  axis_sizes const sizes(value.shape, *axis);
  for (std::size_t i = 0; i < sizes.before * sizes.along; ++i)
    for (std::int64_t k = 0; k < count; ++k)
      to = std::copy_n(value.numbers.begin() + static_cast<std::ptrdiff_t>(i * sizes.after), sizes.after, to);
  return result;
}

python_value reduced(python_value const& value, std::optional<std::size_t> axis, bool keeps_axis,
                     std::function<double(std::vector<double> const&)> const& reduce) {
  auto const& numbers = numbers_of(value);
  if (!axis) {
    if (numbers.empty()) fail();
    return keeps_axis ? filled(array_shape(value.shape.size(), 1), reduce(numbers)) : number_value(reduce(numbers));
  }
  auto shape = value.shape;
  axis_sizes const sizes(shape, *axis);
  if (sizes.along == 0) fail();
  shape[*axis] = 1;
  auto result = filled(shape, 0);
  std::vector<double> line(sizes.along);
  for (std::size_t i = 0; i < result.numbers.size(); ++i) {
    for (std::size_t k = 0; k < sizes.along; ++k)
      line[k] = numbers[(i / sizes.after * sizes.along + k) * sizes.after + i % sizes.after];
    result.numbers[i] = reduce(line);
  }
  if (!keeps_axis) result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(*axis));
  return result;
}

python_value converted(python_value value, std::string const& type) {
  (void)numbers_of(value);
  auto const* name = &type;
  std::string const others[]{"float64", "int64", "bool"};
  if (type == "float" || type == "double" || type == "float_") name = &others[0];
  if (type == "int" || type == "int_" || type == "long") name = &others[1];
  if (type == "bool_") name = &others[2];
  std::optional<element_type> to;
  for (auto const& facts : io::element_types)
    if (facts.name == *name && facts.type != element_type::bfloat16) to = facts.type;
  for (std::string const prefix : {"<", "|", "="})  // "f4" and "<f4"
    if (!to) to = io::find_element_type<&io::element_type_facts::numpy>(type.size() == 2 ? prefix + type : type);
  if (!to) fail("There is no type '" + type + "'.");
  value.is_sequence = false;
  for (double& each : value.numbers) {
    double const given = each;
    switch (*to) {
      case element_type::boolean: each = each != 0 ? 1 : 0; break;
      case element_type::float64: break;
      case element_type::float32: each = rounded_to(each, 24, -125); break;
      case element_type::float16: each = rounded_to(each, 11, -13); break;
      default: each = std::trunc(each);
    }
    if (!io::can_hold(*to, each)) fail(io::text_of_number(given) + " is no number of type " + *name + ".");
  }
  return value;
}

}  // namespace stagecraft::tool
