// SPDX-License-Identifier: BSD-3-Clause
// Groups of operations: a loop over one axis, such as time, with states that each trip hands to the next; and a named
// group that a machine may carry out as a whole. The operations of a loop stand in one list with all others, between
// loop and loop_end, and each names its loop as its first operand.
#pragma once

#include <string_view>

namespace stagecraft::operations {

/// A loop begins.
struct loop {
  static constexpr int most_nested = 4;

  int trips = 0;
};

/// A state: of the loop and its first value. In later trips it is what `next` has said.
struct carry {};

/// Of the loop, a carry and its value in the next trip.
struct next {};

/// Of the loop and a tensor from outside: its elements at this trip's place of an axis, which goes away.
struct at {
  int axis = 0;
  bool reversed = false;  ///< the first trip takes the last place
};

/// Of the loop and a tensor from inside: those of all trips, along a new axis. Read outside only.
struct stack {
  int axis = 0;
  bool reversed = false;  ///< the first trip gives the last place
};

/// Of the loop and a carry: its value after the last trip. Stands behind the loop's end.
struct last {};

/// The end of a loop, which it names: the next trip begins, or what stands behind it.
struct loop_end {};


class composite_gradient;

/// Appends the gradients of a composite's operands to the list, by `give`.
using gradient_rule = void (*)(composite_gradient&);

/// A named group of operations that a machine may carry out as a whole.
/// Of its result and the tensors that it is a function of: the operations from `first` to here. A machine that knows
/// the name carries them out at once; one that does not carries out what is inside.
struct composite {
  std::string_view name;
  int first = 0;
  gradient_rule rule = nullptr;  ///< where the gradient of what is inside would lose digits or time
  bool is_gradient = false;  ///< of what the name says: its operands are what that reads, then its result's gradient
  static constexpr int most_numbers = 3;
  float numbers[most_numbers]{};  ///< what it is a function of beside tensors, in an order that its name knows
};

}  // namespace stagecraft::operations
