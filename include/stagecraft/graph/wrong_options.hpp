// SPDX-License-Identifier: BSD-3-Clause
// What a layer says when it is made from other options than it has: one error, and a layer that stands in.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>
#include <concepts>

namespace stagecraft::tracing {

/// The parameters of a layer's last constructor, which takes anything but options in braces that no layer has: these
/// are `layer`'s own. It has four, since `...` would take such options with Clang, which then says more of them.
struct wrong_options {
  template <class... T>
  constexpr wrong_options(T const&...) {}  // NOLINT(google-explicit-constructor): matches, but worse than any other
};

/// E1025. A layer's last constructor reports this; `L::usage` is how to write it.
template <class L>
inline constexpr diagnostic wrong_options_problem = [] {
  diagnostic problem;
  problem.report(1025, "layer ", L::class_name, " cannot be made from what its braces hold; write ", L::usage);
  return problem;
}();

/// A layer's argument that is a whole number: one with a point is E1025, where `int` would take it, or refuse to narrow
/// it.
struct whole_number {
  template <std::convertible_to<int> Number>
    requires(!std::floating_point<Number>)
  constexpr whole_number(Number number) : value(static_cast<int>(number)) {}  // NOLINT(google-explicit-constructor)

  constexpr operator int() const noexcept { return value; }  // NOLINT(google-explicit-constructor)

  int value;
};

}  // namespace stagecraft::tracing
