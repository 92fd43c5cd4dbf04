// SPDX-License-Identifier: BSD-3-Clause
// Python's index expressions, for symbolic tensors: x[{sc::all(), sc::slice(1, 3), -1}] is x[:, 1:3, -1].
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <initializer_list>

namespace stagecraft::tracing {

/// One bound of a slice: a number, or {} for Python's None.
struct slice_bound {
  int value = 0;
  bool is_given = false;

  constexpr slice_bound() = default;
  constexpr slice_bound(int number) : value(number), is_given(true) {}
};

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Python's `slice(start, stop, step)`, the object behind start:stop:step. Negative bounds count from the end;
/// 1: is `slice(1, {})`, and :-1 is `slice(-1)`.
struct slice {
  tracing::slice_bound start, stop;
  int step = 1;

  constexpr explicit slice(tracing::slice_bound stop_) : stop(stop_) {}
  constexpr slice(tracing::slice_bound start_, tracing::slice_bound stop_, int step_ = 1)
      : start(start_), stop(stop_), step(step_) {}

  /// Which elements of an axis it takes.
  struct elements {
    int first = 0;
    int count = 0;
  };
  [[nodiscard]] constexpr elements of(int length) const {
    auto const clip = [&](tracing::slice_bound const& bound, int otherwise) {
      if (!bound.is_given) return otherwise;
      int const at = bound.value < 0 ? bound.value + length : bound.value;
      return at < 0 ? 0 : at > length ? length : at;
    };
    int const first = clip(start, 0), last = clip(stop, length);
    return {first, last > first ? last - first : 0};
  }
};

/// Python's `:`.
constexpr slice all() { return {{}, {}}; }

}  // namespace stagecraft

namespace stagecraft::tracing {

struct ellipsis_type {};

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Python's `...`: all of as many axes as there are left.
constexpr tracing::ellipsis_type ellipsis() { return {}; }

}  // namespace stagecraft

namespace stagecraft::tracing {

/// One entry of an index expression: a slice, the number of one element, whose axis goes away, or an ellipsis.
struct slice_entry {
  slice range = all();
  int index = 0;
  bool is_index = false;
  bool is_ellipsis = false;

  constexpr slice_entry() = default;
  constexpr slice_entry(slice const& of) : range(of) {}
  constexpr slice_entry(int number) : index(number), is_index(true) {}
  constexpr slice_entry(ellipsis_type) : is_ellipsis(true) {}
};

/// An index expression, and the line where it stands.
struct slice_list {
  static constexpr int capacity = 8;
  slice_entry entries[capacity]{};
  int count = 0;
  source_line where{"", 0};

  constexpr slice_list() = default;
  constexpr slice_list(std::initializer_list<slice_entry> list, char const* file = __builtin_FILE(),
                       int line = __builtin_LINE())
      : where{file, line} {
    for (auto const& entry : list) {
      if (count < capacity) entries[count] = entry;
      ++count;
    }
  }
};

}  // namespace stagecraft::tracing
