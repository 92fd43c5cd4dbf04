// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations with broadcasting.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>
#include <string_view>

namespace stagecraft::operations {

/// A function of one, two or three numbers. Comparisons return 1 or 0.
enum class function : unsigned char {
  identity,
  negative,
  absolute,
  sign,  ///< -1, 0 or 1; NaN for NaN
  floor,
  round,  ///< to the nearest whole number; halves to the even one
  exp,
  log,
  log1p,     ///< log(1 + a)
  softplus,  ///< log(1 + exp)
  sqrt,
  rsqrt,  ///< 1 / sqrt
  sin,
  cos,
  atan,
  tanh,
  sigmoid,
  erf,
  // functions of two numbers
  add,
  subtract,
  multiply,
  divide,
  power,
  remainder,  ///< C's fmod: a - b trunc(a / b), exactly; it has the sign of a
  maximum,    ///< NaN if one is NaN; so is the minimum
  minimum,
  less,
  less_equal,
  equal,
  // functions of three numbers
  select,                 ///< the second where the first is not 0, else the third
  multiply_add,           ///< a b + c, rounded once; so are the two below
  multiply_subtract,      ///< a b - c
  negative_multiply_add,  ///< c - a b
};

/// Number of functions.
inline constexpr int function_count = static_cast<int>(function::negative_multiply_add) + 1;

[[nodiscard]] constexpr int arity(function f) noexcept { return f < function::add ? 1 : f < function::select ? 2 : 3; }

/// True if the function returns true or false, as 1 or 0.
[[nodiscard]] constexpr bool is_comparison(function f) noexcept {
  return f == function::less || f == function::less_equal || f == function::equal;
}

/// True if the function has a gradient that is not 0 nearly everywhere.
[[nodiscard]] constexpr bool is_differentiable(function f) noexcept {
  switch (f) {
    case function::sign:
    case function::floor:
    case function::round:
    case function::less:
    case function::less_equal:
    case function::equal: return false;
    default: return true;
  }
}

/// Its name in profiles and errors, in Keras's words.
[[nodiscard]] constexpr std::string_view name(function f) noexcept {
  constexpr std::string_view names[]{"identity",
                                     "negative",
                                     "abs",
                                     "sign",
                                     "floor",
                                     "round",
                                     "exp",
                                     "log",
                                     "log1p",
                                     "softplus",
                                     "sqrt",
                                     "rsqrt",
                                     "sin",
                                     "cos",
                                     "arctan",
                                     "tanh",
                                     "sigmoid",
                                     "erf",
                                     "add",
                                     "subtract",
                                     "multiply",
                                     "divide",
                                     "power",
                                     "fmod",
                                     "maximum",
                                     "minimum",
                                     "less",
                                     "less_equal",
                                     "equal",
                                     "where",
                                     "multiply_add",
                                     "multiply_subtract",
                                     "negative_multiply_add"};
  return names[static_cast<int>(f)];
}

/// Applies the function at each place; operands of length 1 along an axis, or without the axis, are repeated.
struct map {
  function apply = function::identity;

  /// One operation for each place, for every function.
  [[nodiscard]] static constexpr long long flops(extents const& out) noexcept { return out.size(); }
};

}  // namespace stagecraft::operations
