// SPDX-License-Identifier: BSD-3-Clause
// Limits of the numbers of optimizers. Keras checks some of them (decay, clipnorm, SGD's momentum), and trains to NaN
// with others.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/optimizers/learning_rate.hpp>
#include <limits>
#include <string_view>

namespace stagecraft::optimizers::detail {

/// Reports an option of an optimizer that is NaN, or not from 0 to `most`.
struct optimizer_option_check {
  diagnostic& problem;  ///< receives the report
  static constexpr float finite = std::numeric_limits<float>::max();

  constexpr void operator()(std::string_view option, float value, float most = finite) const {
    if (!(value >= 0 && value <= most))
      problem.report(4089, "the training's optimizer has ", option == "epsilon" ? "an " : "a ", option,
                     value != value ? " that is not a number"
                     : most == 1    ? " that is not from 0 to 1"
                     : value > most ? " that is infinite"
                                    : " below 0");
  }
  constexpr void operator()(learning_rate const& rate) const {
    (*this)("learning_rate", rate.initial);
    (*this)("learning_rate's warmup", rate.warmup_steps);
    for (float const number : rate.numbers)
      if (!(number >= -finite && number <= finite))
        problem.report(4089, "the training's learning rate schedule has a number that is not finite");
  }
};

/// E4089: checks the numbers that the library's optimizers have, in any optimizer with members of these names.
template <class O>
constexpr void check_optimizer_options(O const& optimizer, diagnostic& problem) {
  optimizer_option_check const check{problem};
  check(learning_rate(optimizer.learning_rate));
  if constexpr (requires { optimizer.optimizer; }) check_optimizer_options(optimizer.optimizer, problem);
  if constexpr (requires { optimizer.momentum; }) check("momentum", optimizer.momentum, 1);
  if constexpr (requires { optimizer.rho; }) check("rho", optimizer.rho, 1);
  if constexpr (requires { optimizer.beta_1; }) check("beta_1", optimizer.beta_1, 1);
  if constexpr (requires { optimizer.beta_2; }) check("beta_2", optimizer.beta_2, 1);
  if constexpr (requires { optimizer.epsilon; }) check("epsilon", optimizer.epsilon);
  if constexpr (requires { optimizer.decay; }) check("decay", optimizer.decay);
  if constexpr (requires { optimizer.weight_decay; }) check("weight_decay", optimizer.weight_decay);
  if constexpr (requires { optimizer.clipnorm; }) check("clipnorm", optimizer.clipnorm);
  if constexpr (requires { optimizer.clipvalue; }) check("clipvalue", optimizer.clipvalue);
  if constexpr (requires { optimizer.global_clipnorm; }) check("global_clipnorm", optimizer.global_clipnorm);
}

}  // namespace stagecraft::optimizers::detail
