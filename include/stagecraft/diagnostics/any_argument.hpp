// SPDX-License-Identifier: BSD-3-Clause
// Parameters that take what no other overload does, so that the library can say what is wrong with it.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <initializer_list>

namespace stagecraft::diagnostics {

/// Takes any argument, and any list in braces that has no designators.
struct any_argument {
  template <class... T>
  constexpr any_argument(T const&...) noexcept {}

  friend constexpr bool operator==(any_argument const&, any_argument const&) = default;
};

/// Takes a list with designators, such as `{.epoch = 2}`, whatever they are. If GCC comes to convert such a list, it
/// says which name is unknown. Clang takes such a list for `...` only.
using any_options = any_argument const (&)[];

/// Takes any argument, as `any_argument` does, and reports `Source::problem` in the conversion: compilers convert the
/// arguments in their order and stop at the first error, so a list with an unknown designator after this one is no
/// second error. The problem is found there and not before, since compilers also look at functions that are not called.
template <class Source>
struct refusing_argument {
  template <class T>
  constexpr refusing_argument(T const&, bool = (static_cast<void>(refusal_of<Source::problem>{}), true)) noexcept {}
  constexpr refusing_argument(std::initializer_list<any_argument>,
                              bool = (static_cast<void>(refusal_of<Source::problem>{}), true)) noexcept {}
};

/// The parameter of a template that reports `Source::problem`. Nothing is deduced from its argument:
///
///     template <class Options = fit_options>
///     void fit(refusing<wrong_run_options<Options>>, any_options);
template <class Source>
using refusing = typename verdict_box<refusing_argument<Source>>::type;

}  // namespace stagecraft::diagnostics
