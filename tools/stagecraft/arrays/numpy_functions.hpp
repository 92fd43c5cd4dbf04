// SPDX-License-Identifier: BSD-3-Clause
// The functions of NumPy that an expression on a command line may call: those with which tutorials make arrays.
#pragma once

#include "arrays/numpy_random.hpp"
#include "arrays/python_literal.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// The arguments of a call in an expression.
struct call_arguments {
  std::vector<python_value> in_order;
  std::vector<std::pair<std::string, python_value>> by_name;
};

/// Python's `%`, which has the sign of `b`, and `//`.
[[nodiscard]] double python_remainder(double a, double b);
[[nodiscard]] double python_floor_divide(double a, double b);

/// A constant such as np.pi; none if there is no such constant.
[[nodiscard]] std::optional<double> numpy_constant(std::string const& name);

/// Calls np.<name>(...), such as "sin" or "random.rand". Throws expression_problem if there is no such function, or if
/// it does not take the arguments.
[[nodiscard]] python_value call_numpy(std::string const& name, call_arguments given, numpy_random& random);

/// Calls np.random.<name>(...).
[[nodiscard]] python_value call_numpy_random(std::string const& name, call_arguments given, numpy_random& random);

/// Calls value.<name>(...), such as "reshape".
[[nodiscard]] python_value call_method(python_value value, std::string const& name, call_arguments given);

}  // namespace stagecraft::tool
