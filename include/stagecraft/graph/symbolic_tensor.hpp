// SPDX-License-Identifier: BSD-3-Clause
// A tensor that exists only while a model is traced, the output of a layer's call and the input of the next; and
// Python's index expressions for it: x[{sc::all(), sc::slice(1, 3), -1}] is x[:, 1:3, -1].
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/shape.hpp>
#include <array>
#include <concepts>
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

/// Python's `slice(start, stop, step)`, the object that start:stop:step makes. Negative bounds count from the end;
/// 1: is `slice(1, {})`, and :-1 is `slice(-1)`.
struct slice {
  tracing::slice_bound start, stop;
  int step = 1;

  constexpr explicit slice(tracing::slice_bound stop_) : stop(stop_) {}
  constexpr slice(tracing::slice_bound start_, tracing::slice_bound stop_, int step_ = 1)
      : start(start_), stop(stop_), step(step_) {}

  /// The elements of an axis that it takes.
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

class model_builder;

}  // namespace stagecraft::tracing

namespace stagecraft {

/// Keras's symbolic tensor: the output of one call, known by its index. Copies stand for the same tensor. Without a
/// model it is the result of an invalid call, which has had its compile error.
struct symbolic_tensor {
  tracing::model_builder* model = nullptr;
  int call = 0;

  /// Its shape, without the batch.
  [[nodiscard]] constexpr stagecraft::shape const& shape() const;
  [[nodiscard]] constexpr dtype type() const;
  /// A part of it: Python's x[:, 1:3] is x[{sc::all(), sc::slice(1, 3)}]. See layers/core/op_lambda.hpp.
  template <class Part = tracing::slice_list>  // so that a program that has none need not compile it
  [[nodiscard]] constexpr symbolic_tensor operator[](tracing::slice_list const& part) const;
};

/// Several tensors as a model's outputs: `return sc::outputs(a, b);`.
template <class... Tensors>
[[nodiscard]] constexpr auto outputs(Tensors... tensor) {
  return std::array<symbolic_tensor, sizeof...(Tensors)>{tensor...};
}

}  // namespace stagecraft

namespace stagecraft::tracing {

/// The first tensor that a layer or model is called with. Converting to it, the compiler fills in the line of the call.
struct first_tensor {
  symbolic_tensor tensor;
  source_line where;

  constexpr first_tensor(symbolic_tensor given, char const* file = __builtin_FILE(), int line = __builtin_LINE())
      : tensor(given), where{file, line} {}
};

/// True if a call's arguments are one or more symbolic tensors.
template <class... Arguments>
inline constexpr bool are_tensors = sizeof...(Arguments) > 0 && ((std::derived_from<Arguments, symbolic_tensor> ||
                                                                  std::same_as<Arguments, first_tensor>) &&
                                                                 ...);

}  // namespace stagecraft::tracing
