// SPDX-License-Identifier: BSD-3-Clause
// What `fit`, `evaluate` and `predict` say of options that they do not have.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::detail {

/// E4084.
template <class Options>
inline constexpr diagnostic wrong_run_options_problem = [] {
  constexpr std::string_view function = std::is_same_v<Options, fit_options>        ? "fit"
                                        : std::is_same_v<Options, evaluate_options> ? "evaluate"
                                                                                    : "predict";
  diagnostic problem;
  problem.report(4084, function, " is given an option that it does not have, or one of another type; its options, in ",
                 "this order: ", Options::order);
  return problem;
}();

/// What is left of a call that had its compile error.
template <class Options>
struct no_run {
  static_assert(report<wrong_run_options_problem<Options>>());
};

}  // namespace stagecraft::detail
