// SPDX-License-Identifier: BSD-3-Clause
// What `fit`, `evaluate` and `predict` say of options that they do not have.
#pragma once

#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/training/data/fit_options.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// E4084.
template <class Options>
inline constexpr diagnostic wrong_run_options_problem = [] {
  constexpr std::string_view function = std::is_same_v<Options, fit_options>        ? "fit"
                                        : std::is_same_v<Options, evaluate_options> ? "evaluate"
                                                                                    : "predict";
  diagnostic problem;
  problem.report(4084, function, " is given an option that it does not have, or one of another type; its options, in ",
                 "this order: ", Options::order,
                 std::is_same_v<Options, predict_options> ? "; a dataset has no batch_size among them" : "");
  return problem;
}();

/// E4140: `Function` is fit or evaluate. What the dataset's options are stands in a header that this one does not
/// include.
template <fixed_name Function>
inline constexpr diagnostic wrong_streamed_options_problem = [] {
  bool const fits = Function == "fit";
  diagnostic problem;
  problem.report(4140, Function.view(),
                 " is given a dataset with an option that it does not have there, or arrays without labels; its "
                 "options for a dataset, in this order: ",
                 fits ? "epochs, verbose, callbacks, validation_data, class_weight, initial_epoch, steps_per_epoch, "
                        "validation_steps, validation_freq, drop_remainder"
                      : "verbose, steps, callbacks",
                 "; the dataset's own batch(n) says the batch size");
  return problem;
}();

/// What is left of a call that had its compile error.
template <class Options>
struct no_run {
  static_assert(report<wrong_run_options_problem<Options>>());
};

template <class Options, class Result>
Result refuse() {
  return no_run<Options>{}, Result{};
}
template <fixed_name Function, class Result>
Result no_stream() {
  static_assert(report<wrong_streamed_options_problem<Function>>());
  return {};
}

}  // namespace stagecraft::trainers
