// SPDX-License-Identifier: BSD-3-Clause
// The functions of elementwise operations, and where an operation keeps what they need. Level 3.
#pragma once

#include <stagecraft/operations/map.hpp>

namespace stagecraft {

/// What becomes of elements a, b, c of the operands, in their order, and scalars s0, s1.
enum class map_function : int {
  copy,               ///< a, also from another type
  fill,               ///< s0, no operand
  add,                ///< the sum of two or more operands
  subtract,           ///< a - b
  multiply,           ///< the product of two or more operands
  divide,             ///< a / b
  maximum,            ///< the largest of two or more operands, not a number if one is not
  minimum,            ///< likewise
  average,            ///< the mean of two or more operands
  scaled_add,         ///< a + s0 b
  scale,              ///< s0 a
  offset,             ///< a + s0
  multiply_add,       ///< a b + c
  square,             ///< a a
  square_difference,  ///< (a - b) (a - b)
  sqrt,
  rsqrt,                ///< 1 / sqrt(a + s0)
  exponent,             ///< exp(a)
  logarithm,            ///< log(a)
  accumulate,           ///< append_accumulate
  activation,           ///< append_activation_map
  activation_gradient,  ///< append_activation_gradient_map
  dropout,              ///< append_dropout
  dropout_gradient,     ///< append_dropout: the same numbers, applied to the gradient
  maximum_gradient,  ///< a where operand number 1 + s0 is the first of the largest among the operands from 1 on, else 0
  prelu,             ///< a > 0 ? a : b a
  prelu_gradient,    ///< of a: c where a > 0, b c where a < 0, else 0
  prelu_slope_gradient,  ///< of b, before its sums: a b where a < 0, else 0; b is the gradient of the output
  formula,               ///< append_formula: of any operands, the operation's own
  iota,                  ///< the place along an axis: (e / s) % n of element e, no operand
  random_uniform,        ///< from [0, 1), no operand
  random_normal,         ///< of mean 0 and standard deviation 1, no operand
  first_of_operations    ///< this and those behind it: operations::function, some of whose operands are numbers
};

/// A function that a layer's `call` uses.
[[nodiscard]] constexpr map_function map_function_of(operations::function apply) noexcept {
  return static_cast<map_function>(static_cast<int>(map_function::first_of_operations) + static_cast<int>(apply));
}
[[nodiscard]] constexpr bool is_operation(map_function function) noexcept {
  return function >= map_function::first_of_operations;
}
[[nodiscard]] constexpr operations::function function_in(map_function function) noexcept {
  return static_cast<operations::function>(static_cast<int>(function) -
                                           static_cast<int>(map_function::first_of_operations));
}

namespace detail {

// Where an operation keeps numbers behind those of its operands.
inline constexpr int map_activation_kind = 16;
inline constexpr int map_dropout_seed = 17;
inline constexpr int map_dropout_positions = 18;
inline constexpr int map_dropout_channels = 19;
inline constexpr int map_numbers = 20;  ///< bit i: operand i is the number in scalar i, not a tensor
inline constexpr int map_draws = 21;    ///< whether a formula is given a random number, behind its operands
inline constexpr int map_iota_inner = 17, map_iota_count = 18;
inline constexpr int map_random_first = 18;  ///< the number of the first random number

}  // namespace detail

}  // namespace stagecraft
