// SPDX-License-Identifier: BSD-3-Clause
// Groups of operations: a loop over one axis, such as time, with states that each trip hands to the next; and a named
// group that a machine may carry out as a whole. The operations of a loop stand in one list with all others, between
// loop and loop_end, and the first operand of each is its loop.
#pragma once

#include <string_view>

namespace stagecraft::operations {

/// The begin of a loop.
struct loop {
  static constexpr int most_nested = 4;

  int trips = 0;
  int stacks_of_states = 0;  ///< number of its first stacks, which hold the states of all trips for its gradient
};

/// A state. Operands: the loop, and the state's value in the first trip. In later trips it has the value of `next`.
struct carry {};

/// Sets the next value of a state. Operands: the loop, a carry, and its value in the next trip.
struct next {};

/// Operands: the loop and a tensor from outside. The result is the tensor's elements at this trip's place of an axis,
/// which the result does not have.
struct at {
  int axis = 0;
  bool reversed = false;  ///< the first trip takes the last place
};

/// Operands: the loop and a tensor from inside. The result is the tensors of all trips along a new axis, for operations
/// outside.
struct stack {
  int axis = 0;
  bool reversed = false;  ///< the first trip fills the last place
};

/// Operands: the loop and a carry. The result is the state after the last trip. It stands after the loop's end.
struct last {};

/// The end of the loop that it names: the next trip begins, or the operation after the loop runs.
struct loop_end {};

class composite_gradient;

/// Appends the gradients of a composite's operands to the list, by `give`.
using gradient_rule = void (*)(composite_gradient&);

/// A named group: the operations from `first` to this one. Operands: its result, and the tensors that it is a function
/// of. A machine that knows the name carries out the group at once; another one carries out the operations inside.
struct composite {
  std::string_view name;
  int first = 0;
  gradient_rule rule = nullptr;  ///< for groups whose operations' gradients would lose digits or time
  /// True for the gradient of the named function: the operands are those of the function, then the gradient of its
  /// result.
  bool is_gradient = false;
  static constexpr int most_numbers = 3;
  float numbers[most_numbers]{};  ///< its arguments beside tensors, in an order that the name implies
  /// True in the plan of a machine that carries it out by a kernel, from its operands; nothing inside need be computed.
  bool has_kernel = false;
};

}  // namespace stagecraft::operations
