// SPDX-License-Identifier: BSD-3-Clause
// The functions of elementwise operations.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// What becomes of elements a, b, c of the operands, in their order, and scalar s0.
enum class map_function : std::int64_t {
  copy,                 ///< a, also from another type
  fill,                 ///< s0, no operand
  scaled_add,           ///< a + s0 b
  multiply_add,         ///< a b + c
  rsqrt,                ///< 1 / sqrt(a + s0)
  accumulate,           ///< append_accumulate
  activation,           ///< append_activation_map
  activation_gradient,  ///< append_activation_gradient_map
  dropout,              ///< append_dropout
  dropout_gradient,     ///< append_dropout: the same numbers, applied to the gradient
  formula,              ///< append_formula: of any operands, the operation's own
  iota,                 ///< the place along an axis: (e / s) % n of element e, no operand
  random_uniform,       ///< from [0, 1), no operand
  random_normal,        ///< of mean 0 and standard deviation 1, no operand
  first_of_operations,  ///< this and those behind it: operations::function, some of whose operands are numbers
  add = first_of_operations + static_cast<int>(operations::function::add),
  subtract = first_of_operations + static_cast<int>(operations::function::subtract),
  multiply = first_of_operations + static_cast<int>(operations::function::multiply)
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

}  // namespace stagecraft::tiles
