// SPDX-License-Identifier: BSD-3-Clause
// The base of callbacks that are made from options in braces: it reports options that they do not have.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <string_view>

namespace stagecraft::trainers {

/// Reports E4141, here for the struct `early_stopping_options` of the callback `early_stopping`.
template <class Options>
inline constexpr diagnostic wrong_callback_options_problem = [] {
  constexpr std::string_view type = type_name<Options>();
  diagnostic problem;
  problem.report(
      4141, "the callback ", type.substr(0, type.rfind("_options")),
      " is given something that it does not take, such as an option that it does not have, or one of another "
      "type; its options, in this order: ",
      Options::order);
  return problem;
}();

/// The error E4141 as a type. A deleted constructor that takes any options has it as the default of a template
/// parameter, which compilers print; so they print no error of their own of an option that they do not know.
template <class Options>
using wrong_callback_options = refusal_of<wrong_callback_options_problem<Options>>;

/// Base of callbacks with the options `Options`, which lists their names in `order`. A callback takes its constructors
/// (`using option_callback::option_callback`) after its own; they report E4141. One whose first argument is its options
/// deletes that constructor itself, since GCC has three errors of an inherited one:
///
///     template <class Error = wrong_callback_options<my_options>>
///     explicit my_callback(any_options) = delete;
template <class Options>
class option_callback : public callback {
 protected:
  option_callback() = default;

 public:
  template <class O = Options>
  option_callback(refusing<wrong_callback_options_problem<O>>, any_options) {}
  template <class O = Options>
  option_callback(refusing<wrong_callback_options_problem<O>>, any_argument, any_options) {}
#if defined(__clang__)
  // Clang takes a list with designators for `...` alone. GCC 12 would take it for a conversion of the first argument of
  // any constructor, such as the name of a file.
  template <class O = Options>
  option_callback(refusing<wrong_callback_options_problem<O>>, ...) {}
  template <class O = Options, class Error = wrong_callback_options<O>>
    requires(!asserts_texts)
  explicit option_callback(...) = delete;
  template <class O = Options>
    requires asserts_texts
  explicit option_callback(...) noexcept(report<wrong_callback_options_problem<O>>()) {}
#endif
};

}  // namespace stagecraft::trainers
