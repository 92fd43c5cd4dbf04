// SPDX-License-Identifier: BSD-3-Clause
// A loop over one axis, such as time, with states that each trip hands to the next. Its operations stand in one list
// with all others, between loop and loop_end, and each names its loop as its first operand.
#pragma once

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

}  // namespace stagecraft::operations
