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
struct wrong_callback_options {
  static constexpr diagnostic problem = [] {
    constexpr std::string_view type = type_name<Options>();
    diagnostic problem;
    problem.report(
        4141, "the callback ", type.substr(0, type.rfind("_options")),
        " is given something that it does not take, such as an option that it does not have, or one of another "
        "type; its options, in this order: ",
        Options::order);
    return problem;
  }();
};

/// Base of callbacks with the options `Options`, which lists their names in `order`. A callback takes its constructors
/// (`using option_callback::option_callback`) after its own; they report E4141. With GCC, one whose first argument is
/// its options deletes that constructor itself: then it prints no error of its own of an option that it does not know.
/// Clang would compute the text for each copy.
template <class Options>
class option_callback : public callback {
 protected:
  option_callback() = default;

 public:
  template <class O = Options, std::size_t Size>
  option_callback(refusing<wrong_callback_options<O>>, any_options<Size>) {}
  template <class O = Options, std::size_t Size>
  option_callback(refusing<wrong_callback_options<O>>, any_argument, any_options<Size>) {}
#if defined(__clang__)
  // Clang takes a list with designators for `...` alone. GCC 12 would take it for a conversion of the first argument of
  // any constructor, such as the name of a file.
  template <class O = Options>
  option_callback(refusing<wrong_callback_options<O>>, ...) {}
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
  template <class O = Options>
  explicit option_callback(...) = delete(
      "the callback is given something that it does not take, such as an option that it does not have, or one of "
      "another type; its options' docstrings say what it takes [E4141]");
#pragma clang diagnostic pop
#endif
};

}  // namespace stagecraft::trainers
