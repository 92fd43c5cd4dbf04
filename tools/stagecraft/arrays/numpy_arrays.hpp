// SPDX-License-Identifier: BSD-3-Clause
// What NumPy does with the arrays of an expression: shapes, broadcasting, types.
#pragma once

#include "arrays/python_literal.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Why an expression cannot be carried out; the reader adds the expression. An empty text: it is no expression.
struct expression_problem {
  std::string text;
};

using array_shape = std::vector<std::int64_t>;
using binary_operation = double (*)(double, double);

/// Returns the number of elements of a shape. Throws expression_problem for negative lengths, and for more than 2^28.
[[nodiscard]] std::int64_t count_numbers(array_shape const& shape);
[[nodiscard]] python_value number_value(double value);
[[nodiscard]] python_value filled(array_shape const& shape, double value);
/// Whole numbers: a length, or a list of them.
[[nodiscard]] array_shape shape_of(python_value const& value);
[[nodiscard]] double scalar_of(python_value const& value);
[[nodiscard]] std::int64_t whole_of(python_value const& value);
/// An axis of `rank`, which may be counted from the end.
[[nodiscard]] std::size_t axis_of(python_value const& value, std::size_t rank);

/// Arrays of one shape are an array with one axis more; other values stay a list.
[[nodiscard]] python_value sequence_of(std::vector<python_value> items);
/// The items along the first axis.
[[nodiscard]] std::vector<python_value> items_of(python_value const& value);

/// Elementwise, with NumPy's broadcasting. Lists of Python's are only combined with arrays: joining and repeating them,
/// which Python does, is not done.
[[nodiscard]] python_value combine(python_value const& a, python_value const& b, binary_operation operation);
[[nodiscard]] python_value broadcast_to(python_value const& value, array_shape const& shape);
/// One length may be -1.
[[nodiscard]] python_value reshaped(python_value const& value, array_shape shape);
/// `axes`: of the result, by their places in `value`.
[[nodiscard]] python_value transposed(python_value const& value, std::vector<std::size_t> const& axes);
[[nodiscard]] python_value concatenated(std::vector<python_value> const& arrays, std::size_t axis);
/// Each number `count` times, along an axis; none: of all numbers in their order.
[[nodiscard]] python_value repeated(python_value const& value, std::int64_t count, std::optional<std::size_t> axis);
/// Numbers along an axis as one, or all of them.
[[nodiscard]] python_value reduced(python_value const& value, std::optional<std::size_t> axis, bool keeps_axis,
                                   std::function<double(std::vector<double> const&)> const& reduce);
/// NumPy's `astype`: numbers are rounded, those of integers towards zero. Throws expression_problem for a type that is
/// not known, and for a number that it does not have, such as 300 of uint8.
[[nodiscard]] python_value converted(python_value value, std::string const& type);

}  // namespace stagecraft::tool
