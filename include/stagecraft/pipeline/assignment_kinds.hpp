// SPDX-License-Identifier: BSD-3-Clause
// In which of its forms a stage assignment is given, told by its type.
#pragma once

#include <stagecraft/pipeline/stages.hpp>
#include <concepts>
#include <type_traits>

namespace stagecraft::pipeline {

/// Whether a parameter of a function lets it change its argument.
template <class Function>
inline constexpr bool takes_reference = true;
template <class Result, class F, class Parameter>
inline constexpr bool takes_reference<Result (F::*)(Parameter) const> =
    std::is_lvalue_reference_v<Parameter> || std::is_rvalue_reference_v<Parameter>;
template <class Result, class Parameter>
inline constexpr bool takes_reference<Result (*)(Parameter)> = std::is_reference_v<Parameter>;

/// Whether F gets a copy of what it is called with, so that its changes are lost.
template <class F, class Argument>
constexpr bool takes_copy() {
  if constexpr (requires { &F::operator(); })
    return !takes_reference<decltype(&F::operator())>;
  else if constexpr (requires { &F::template operator()<Argument>; })
    return !takes_reference<decltype(&F::template operator()<Argument>)>;
  else
    return !takes_reference<F>;
}

/// A function that edits an assignment.
template <class F, class Argument>
inline constexpr bool assigns_by_function = std::invocable<F, Argument&> && !takes_copy<F, Argument>();

/// A function, but one that cannot be given an assignment to change.
template <class F, class Argument>
inline constexpr bool has_wrong_parameter =
    !assigns_by_function<F, Argument> &&
    (std::invocable<F, Argument&> || std::is_function_v<std::remove_pointer_t<F>> || requires { &F::operator(); });

template <class T>
inline constexpr bool is_stage_list = false;
template <auto... Stage>
inline constexpr bool is_stage_list<stage_list<Stage...>> = true;

/// Whether all entries of a list, and of the lists in it, are numbers.
template <class T>
inline constexpr bool is_list_of_stages = std::integral<T>;
template <auto... Stage>
inline constexpr bool is_list_of_stages<stage_list<Stage...>> = [] {
  bool result = true;
  for (bool const valid : {true, is_list_of_stages<std::remove_cvref_t<decltype(Stage)>>...}) result = result && valid;
  return result;
}();

template <class T>
concept StageOrEntry = std::integral<T> || requires(T const& entry) {
  entry.pipeline_stage;
  entry.layer_name();
};

template <class T>
inline constexpr bool is_range_of_stages = requires(T const& range) {
  range.size();
  requires StageOrEntry<std::remove_cvref_t<decltype(range[0])>>;
};

}  // namespace stagecraft::pipeline
