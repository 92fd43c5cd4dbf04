// SPDX-License-Identifier: BSD-3-Clause
// The first rule that a model, its stages and its description break, where a trainer or a predictor is named.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::trainers {

/// The model of a trainer's session. Models that differ in stages that they do not have share one: that of the model
/// itself, unless its own code gives it stages.
template <class M>
using model_of_session = std::conditional_t<is_pipelined<M> || is_pipelined<typename traced_model<M>::type>, M,
                                            typename traced_model<M>::type>;
template <class M, auto Description, class Machine>
using session_of_run = session_of<model_of_session<M>, Description, Machine>;

/// E4094: a description of the other kind.
template <auto Description, bool Trains>
inline constexpr diagnostic kind_of_description_problem = [] {
  diagnostic problem;
  constexpr bool infers = only_infers<Description>;
  if (Trains && infers)
    problem.report(4094,
                   "a trainer is given a description of an inference, which says nothing of a loss and an optimizer; "
                   "name a sc::training, or an sc::predictor of the model");
  if (!Trains && !infers)
    problem.report(4094,
                   "a predictor is given what is no description of an inference; name a sc::inference{.batch_size = "
                   "...}, or an sc::trainer of the model");
  return problem;
}();

/// E4092: a machine of which only the description is included.
template <class Machine>
inline constexpr diagnostic execution_problem = [] {
  diagnostic problem;
  if (!is_carried_out<Machine>)
    problem.report(4092,
                   "a model is trained on emulated IPUs, but how they carry out its steps is not included: "
                   "#include <stagecraft/ipu.hpp>");
  return problem;
}();

inline constexpr diagnostic already_reported_problem = [] {
  diagnostic problem;
  problem.already_reported();
  return problem;
}();

/// The first rule that a model, its stages or its description breaks, alone or with the machine.
template <class M, auto Description, class Machine, bool Trains>
constexpr diagnostic const& run_problem() {
  if constexpr (requires { Description.is_refused; })
    return already_reported_problem;
  else if constexpr (kind_of_description_problem<Description, Trains>.failed())
    return kind_of_description_problem<Description, Trains>;
  else if constexpr (is_invalid<M>)
    return frozen_graph<typename traced_model<M>::type>.problem;
  else if constexpr (has_invalid_stages<M>)
    return stage_problem<M>;
  else if constexpr (training_problem<typename job_on<M, Description, Machine>::described>.failed())
    return training_problem<typename job_on<M, Description, Machine>::described>;
  else if constexpr (machine_problem<job_on<M, Description, Machine>>.failed())
    return machine_problem<job_on<M, Description, Machine>>;
  else if constexpr (execution_problem<Machine>.failed())
    return execution_problem<Machine>;
  else
    return policy_of<Machine>::template memory_problem<job_on<model_of_session<M>, Description, Machine>>();
}

}  // namespace stagecraft::trainers
