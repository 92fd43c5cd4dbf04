// SPDX-License-Identifier: BSD-3-Clause
// NumPy's operations on arrays of an expression: shapes, broadcasting, types.
#pragma once

#include "arrays/python_literal.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The reason why an expression cannot be evaluated; the reader adds the expression. Empty: it is no expression.
struct expression_problem {
  std::string text;
};

using array_shape = std::vector<std::int64_t>;
using binary_operation = double (*)(double, double);

/// Returns the number of elements of a shape. Throws expression_problem for negative lengths, and for more than 2^28.
[[nodiscard]] std::int64_t count_numbers(array_shape const& shape);
[[nodiscard]] python_value number_value(double value);
[[nodiscard]] python_value filled(array_shape const& shape, double value);
/// A shape from whole numbers: a length, or a list of lengths.
[[nodiscard]] array_shape shape_of(python_value const& value);
[[nodiscard]] double scalar_of(python_value const& value);
[[nodiscard]] std::int64_t whole_of(python_value const& value);
/// The number of one of `rank` axes, which may be counted from the end.
[[nodiscard]] std::size_t axis_of(python_value const& value, std::size_t rank);

/// Joins arrays of one shape into an array with one more axis; other values stay a list.
[[nodiscard]] python_value sequence_of(std::vector<python_value> items);
/// The items along the first axis.
[[nodiscard]] std::vector<python_value> items_of(python_value const& value);

/// Combines two values elementwise, with NumPy's broadcasting. Python's lists are only combined with arrays: unlike in
/// Python, they are neither joined nor repeated.
[[nodiscard]] python_value combine(python_value const& a, python_value const& b, binary_operation operation);
[[nodiscard]] python_value broadcast_to(python_value const& value, array_shape const& shape);
/// Reshapes an array; one length may be -1.
[[nodiscard]] python_value reshaped(python_value const& value, array_shape shape);
/// Puts axes into another order. `axes`: for each axis of the result, its place in `value`.
[[nodiscard]] python_value transposed(python_value const& value, std::vector<std::size_t> const& axes);
[[nodiscard]] python_value concatenated(std::vector<python_value> const& arrays, std::size_t axis);
/// Repeats each number `count` times along an axis; without one, all numbers in their order.
[[nodiscard]] python_value repeated(python_value const& value, std::int64_t count, std::optional<std::size_t> axis);
/// Reduces the numbers along an axis to one, or all numbers.
[[nodiscard]] python_value reduced(python_value const& value, std::optional<std::size_t> axis, bool keeps_axis,
                                   std::function<double(std::vector<double> const&)> const& reduce);
/// NumPy's `astype`: numbers are rounded, to integers towards zero. Throws expression_problem for an unknown type, and
/// for a number that it does not have, such as 300 for uint8.
[[nodiscard]] python_value converted(python_value value, std::string const& type);

}  // namespace stagecraft::tool
