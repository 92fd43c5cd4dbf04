// SPDX-License-Identifier: BSD-3-Clause
// The callbacks of one run, by their addresses.
// Keras counterpart: the `callbacks` argument of Model.fit.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/training/callbacks/callback.hpp>

#include <concepts>
#include <type_traits>
#include <vector>

namespace stagecraft::detail {

template <class Given>
concept CallbackValue = std::derived_from<std::remove_cvref_t<Given>, callback>;

/// E4085: a callback itself, where its address belongs.
template <class Given>
inline constexpr diagnostic callback_value_problem = [] {
  diagnostic problem;
  problem.report(4085, "a callback of type '", type_name<Given>(),
                 "' is given itself; a run takes the address of a variable of yours: .callbacks = {&stopping}");
  return problem;
}();

}  // namespace stagecraft::detail

namespace stagecraft::trainers {

/// `.callbacks = {&stopping, &log}`: variables of the user's, which outlive the run. E4085: a callback itself.
struct callback_pointers : std::vector<callback*> {
  using std::vector<callback*>::vector;
  template <std::same_as<callback*> Pointer>
  callback_pointers(std::vector<Pointer> const& pointers) : std::vector<callback*>(pointers) {}

  template <detail::CallbackValue First, class... Others>
  callback_pointers(First const&, Others const&...) {
    static_assert(detail::report<detail::callback_value_problem<First>>());
  }
  template <class First, detail::CallbackValue Second, class... Others>
    requires(!detail::CallbackValue<First>)
  callback_pointers(First const&, Second const&, Others const&...) {
    static_assert(detail::report<detail::callback_value_problem<Second>>());
  }
};

}  // namespace stagecraft::trainers
