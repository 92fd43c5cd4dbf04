// SPDX-License-Identifier: BSD-3-Clause
// The callbacks of one run, by their addresses.
// Keras counterpart: the `callbacks` argument of Model.fit.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/hooks.hpp>

#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::trainers {

template <class Given>
concept CallbackValue = std::derived_from<std::remove_cvref_t<Given>, callback>;

/// The address of a callback, or of what derives from it.
template <class Given>
concept CallbackAddress =
    std::is_pointer_v<std::remove_cvref_t<Given>> && CallbackValue<std::remove_pointer_t<std::remove_cvref_t<Given>>>;

/// E4085: a callback itself, where its address belongs.
template <class Given>
inline constexpr diagnostic callback_value_problem = [] {
  diagnostic problem;
  problem.report(4085, "a callback of type '", type_name<Given>(),
                 "' is given itself; a run takes the address of a variable of yours: .callbacks = {&stopping}");
  return problem;
}();

/// `.callbacks = {&stopping, &log}`: variables of the user's, which outlive the run. E4085: a callback itself; E4137,
/// E4138: a callback with a member that looks like a hook, and that nothing calls.
struct callback_pointers : std::vector<callback*> {
  callback_pointers() = default;
  callback_pointers(std::vector<callback*> pointers) : std::vector<callback*>(std::move(pointers)) {}

  template <class... Given>
    requires(sizeof...(Given) > 0 && ((CallbackValue<Given> || CallbackAddress<Given>) && ...))
  callback_pointers(Given&&... given) : std::vector<callback*>{address_of(given)...} {}

 private:
  template <class Given>
  static callback* address_of([[maybe_unused]] Given& given) {
    if constexpr (CallbackValue<Given>) {
      static_assert(report<callback_value_problem<Given>>());
      return nullptr;
    } else {
      using type = std::remove_pointer_t<std::remove_cvref_t<Given>>;
      static_assert(report<hook_problem<type>>());
      return given;
    }
  }
};

}  // namespace stagecraft::trainers
