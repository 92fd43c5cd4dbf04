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

/// np.pi and the like; none if there is no such constant.
[[nodiscard]] std::optional<double> numpy_constant(std::string const& name);

/// np.<name>(...): "sin", "random.rand". Throws expression_problem: there is no such function here, or its arguments
/// are others than NumPy's.
[[nodiscard]] python_value call_numpy(std::string const& name, call_arguments given, numpy_random& random);

/// np.random.<name>(...).
[[nodiscard]] python_value call_numpy_random(std::string const& name, call_arguments given, numpy_random& random);

/// value.<name>(...): "reshape".
[[nodiscard]] python_value call_method(python_value value, std::string const& name, call_arguments given);

}  // namespace stagecraft::tool
