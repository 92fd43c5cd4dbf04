// SPDX-License-Identifier: BSD-3-Clause
// Parameters that take what no other overload does, so that the library can say what is wrong with it.
#pragma once

namespace stagecraft::diagnostics {

/// Takes any argument, and any list in braces that has no designators.
struct any_argument {
  template <class... T>
  constexpr any_argument(T const&...) noexcept {}

  friend constexpr bool operator==(any_argument const&, any_argument const&) = default;
};

/// Takes a list with designators, such as `{.epoch = 2}`, whatever they are: GCC then says which name is unknown, and
/// goes on to the function. Clang takes such a list for `...` only.
using any_options = any_argument const (&)[];

}  // namespace stagecraft::diagnostics
