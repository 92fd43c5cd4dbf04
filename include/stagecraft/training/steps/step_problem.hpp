// SPDX-License-Identifier: BSD-3-Clause
// The job of each sub-step of a training step, and the rules for a step, its options and its machine.
#pragma once

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/training/run_problem.hpp>
#include <stagecraft/training/steps/own_runs.hpp>
#include <stagecraft/training/steps/sub_step.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::trainers {

template <class Machine>
inline constexpr bool is_host_alone = false;
template <int Threads, class Arch, int Devices>
inline constexpr bool is_host_alone<host_machine<Threads, Arch, Devices>> = true;

/// The first mistake in a step.
template <class Step>
inline constexpr diagnostic step_parts_problem = [] {
  if (facts_of_step<Step>.problem.failed()) return facts_of_step<Step>.problem;
  if (facts_of_run<Step, own_run::test>.problem.failed()) return facts_of_run<Step, own_run::test>.problem;
  return facts_of_run<Step, own_run::predict>.problem;
}();
/// True if a step is carried out by the trainer of its model.
template <class Step>
inline constexpr bool is_step_of_fit =
    !same_type(facts_of_step<Step>.loss_of_fit, no_type) && inputs_of_run<Step, own_run::test> == 0 &&
    inputs_of_run<Step, own_run::predict> == 0;
/// The model and the description that a sub-step is planned with.
template <class Step, int Number, step_options Options, bool IsFit = is_step_of_fit<Step>>
struct plan_of_sub_step {
  using model = sub_step_model<Step, Number>;
  static constexpr auto const& training = training_of_sub_step<Step, Number, Options>;
};
template <class Step, step_options Options>
struct plan_of_sub_step<Step, 0, Options, true> {
  using model = type_of_tag<facts_of_step<Step>.members[0].type>;
  static constexpr auto const& training = training_of_fit<Step, Options>;
};
template <class Step, int Number, step_options Options, class Machine>
using job_of_sub_step = jobs::job_on<model_of_session<typename plan_of_sub_step<Step, Number, Options>::model>,
                                     plan_of_sub_step<Step, Number, Options>::training, Machine>;

/// The first mistake in the optimizers and options of a step's sub-steps, from number `Number` on, or of the training
/// of the model of a step that does what `fit` does.
template <class Step, step_options Options, class Machine, int Number = 0>
constexpr diagnostic const& sub_steps_problem() {
  using planned = plan_of_sub_step<Step, Number, Options>;
  constexpr diagnostic const& own = run_problem<typename planned::model, planned::training, Machine, true>();
  if constexpr (own.failed() || Number + 1 == facts_of_step<Step>.sub_step_count)
    return own;
  else
    return sub_steps_problem<Step, Options, Machine, Number + 1>();
}
/// Reports E2110 on IPUs, which have all sub-steps in their memory.
template <class Step, step_options Options, class Machine>
constexpr diagnostic const& memory_problem_of_step() {
  return []<std::size_t... Number>(std::index_sequence<Number...>) -> diagnostic const& {
    return engine::policy_of<Machine>::template memory_problem_of_steps<
        job_of_sub_step<Step, static_cast<int>(Number), Options, Machine>...>();
  }(std::make_index_sequence<static_cast<std::size_t>(facts_of_step<Step>.sub_step_count)>{});
}
/// Reports E2111 and E2092.
template <class Step, class Machine>
inline constexpr diagnostic place_problem = [] {
  diagnostic problem;
  auto const& facts = facts_of_step<Step>;
  for (int i = 0; i < facts.member_count && !is_step_of_fit<Step>; ++i)
    if (facts.members[i].has_stages)
      problem.report(
          2111, "a training step calls model '", facts.members[i].name,
          "', which has pipeline stages; the schedule of a pipeline takes a step that does what `fit` does: one "
          "model, step.loss and one minimize");
  if (requires { typename Machine::machine_of_rank; } || (!is_host_alone<Machine> && !is_ipu<Machine>))
    problem.report(2092, "a training step of one's own is given a cluster; it runs in one process: sc::host<4>");
  return problem;
}();
/// The first mistake in a step, its options, or the machine's.
template <class Step, step_options Options, class Machine>
constexpr diagnostic const& step_problem() {
  if constexpr (step_parts_problem<Step>.failed())
    return step_parts_problem<Step>;
  else if constexpr (place_problem<Step, Machine>.failed())
    return place_problem<Step, Machine>;
  else if constexpr (is_step_of_fit<Step> || !is_ipu<Machine> || sub_steps_problem<Step, Options, Machine>().failed())
    return sub_steps_problem<Step, Options, Machine>();
  else
    return memory_problem_of_step<Step, Options, Machine>();
}

}  // namespace stagecraft::trainers
