// SPDX-License-Identifier: BSD-3-Clause
// What a layer says when it is made from other options than it has: one error, and a layer that stands in.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/diagnostic.hpp>

namespace stagecraft::detail {

/// The first parameter of a layer's last constructor, `layer(wrong_options, ...)`, which takes anything. With
/// `layer(...)` alone editors would offer that one first: they begin with the constructors of the fewest parameters.
struct wrong_options {
  constexpr wrong_options() = default;
  template <class T>
  constexpr wrong_options(T const&) {}  // NOLINT(google-explicit-constructor): a match, but a worse one than any other
};

/// E1025. A layer's last constructor reports this; `L::usage` is how to write it.
template <class L>
inline constexpr diagnostic wrong_options_problem = [] {
  diagnostic problem;
  problem.report(1025, "layer ", L::class_name, " cannot be made from what its braces hold; write ", L::usage);
  return problem;
}();

/// E1138.
template <class L>
inline constexpr diagnostic fraction_problem = [] {
  diagnostic problem;
  problem.report(1138, "layer ", L::class_name,
                 " is given a number with a point where it takes a whole one, such as 64 and not 64.0; write ",
                 L::usage);
  return problem;
}();

template <class Value, class L>
constexpr Value first_value(Value L::*);

/// Whether the first argument of a layer is a whole number, or made from whole numbers alone.
template <class L>
concept BeginsWithWholeNumber = requires {
  typename L::arguments;
} && []<template <auto...> class List, auto First, auto... Others>(List<First, Others...>*) {
  using value = decltype(first_value(First));
  return requires(int number) { value{number}; } && !requires(float number) { value{number}; };
}(static_cast<typename L::arguments*>(nullptr));

}  // namespace stagecraft::detail
