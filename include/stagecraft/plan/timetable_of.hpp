// SPDX-License-Identifier: BSD-3-Clause
// The timetable of a model's stages, and what it says about them: known where a training is described, before anything
// runs.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/pipeline_checks.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/plan/call_needs.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// The device of each stage, and which are beside each other; a model without stages is one stage on device 0.
template <class M>
constexpr auto list_devices_of_stages() {
  // A model with an error in its stages is seen as if all were in one.
  constexpr int stages = checked_stages<M>.stage_count();
  std::array<placed_stage, static_cast<std::size_t>(stages < 1 ? 1 : stages)> result{};
  for (int stage = 0; stage < stages; ++stage)
    result[stage] = {checked_stages<M>.device(stage), checked_stages<M>.is_beside(stage)};
  return result;
}

template <class M>
inline constexpr auto devices_of_stages = list_devices_of_stages<M>();

/// A number asked of a timetable; equal to everything where the model's stages or its schedule have had a compile
/// error.
template <class M, diagnostic const& Problem, class Number>
constexpr auto timetable_answer(Number number) {
  static_assert(report<Problem>());
  if constexpr (has_invalid_stages<M> || Problem.failed())
    return any_number{};
  else
    return number;
}

/// A stage of the timetable: E2023 if the model does not have it.
template <class M, int Stage>
constexpr int stage_of_timetable() {
  if constexpr (Stage != 0 || is_pipelined<M>) static_assert(report<stage_number_problem<M, Stage>>());
  return Stage < 0 || Stage >= static_cast<int>(devices_of_stages<M>.size()) ? 0 : Stage;
}

/// The first problem of a timetable: that of the model, of its stages, or of its schedule.
template <class M, class Job>
constexpr diagnostic const& timetable_problem() {
  if constexpr (is_invalid<M>)
    return frozen_graph<typename traced_model<M>::type>.problem;
  else if constexpr (has_invalid_stages<M>)
    return stage_problem<M>;
  else
    return schedule_problem<Job>;
}

template <class Job>
inline constexpr timetable unchecked_timetable = [] {
  constexpr pipelining_options options = Job::options;
  constexpr bool trains = Job::trains;
  constexpr int micro_batches = trains ? options.accumulation_steps() : Job::training.steps_per_execution;
  // A loop without stages overlaps if there is a next micro-batch.
  constexpr bool overlaps_io =
      Job::training.overlaps_io &&
      (is_pipelined<typename Job::model> ? options.schedule == schedule::grouped : micro_batches > 1);
  return trains ? timetable(options.schedule, devices_of_stages<typename Job::model>, micro_batches, true,
                            options.batch_serialization_iterations, options.recomputation_mode, overlaps_io)
                : timetable(options.schedule, devices_of_stages<typename Job::model>, micro_batches, false, 1,
                            recomputation_mode::none, overlaps_io);
}();

}  // namespace stagecraft::plan

namespace stagecraft {

/// The timetable of a model: the micro-batch that each device works on in each slot. In training, for one weight
/// update: micro-batches are those of gradient_accumulation_steps_per_replica, times batch serialization. In inference,
/// for one execution: those of steps_per_execution, without batch serialization; so it is with a description of an
/// inference, unless another mode is named. A model without stages is one stage on device 0.
///
///     static_assert(sc::timetable_of<two_stages, training>.slots() == 11);
///
/// Errors: numbers that the schedule has no use for, and what it cannot do, E2020, E2022, E2024 to E2031, E2047, E2059,
/// E4021.
template <Model M, auto Training, execution_mode Mode = detail::mode_of<Training>,
          class = typename detail::verdict_on<detail::timetable_problem<M, jobs::job<M, Training, Mode>>()>::checked>
inline constexpr timetable timetable_of = detail::unchecked_timetable<jobs::job<M, Training, Mode>>;

/// The part of the devices' time in which they have nothing to do: timetable::bubble. 0 without stages: there, nothing
/// waits for anything.
///
///     static_assert(sc::pipeline_bubble<two_stages, training> < 0.2);
template <Model M, auto Training, execution_mode Mode = detail::mode_of<Training>,
          class = typename detail::verdict_on<detail::timetable_problem<M, jobs::job<M, Training, Mode>>()>::checked>
inline constexpr auto pipeline_bubble =
    detail::timetable_answer<M, detail::schedule_problem<jobs::job<M, Training, Mode>>>(
        detail::unchecked_timetable<jobs::job<M, Training, Mode>>.bubble());

/// The number of which gradient_accumulation_steps_per_replica (in inference: steps_per_execution) must be a multiple.
/// With overlapped input and output it need not be one, but must be at least two more. It may be asked before these
/// numbers are right.
template <Model M, auto Training, execution_mode Mode = detail::mode_of<Training>>
inline constexpr auto pipeline_overlap_length =
    detail::timetable_answer<M, detail::form_of_schedule_problem<jobs::job<M, Training, Mode>>>(
        detail::unchecked_timetable<jobs::job<M, Training, Mode>>.overlap_length());

/// Slots per weight update (in inference: per execution).
template <Model M, auto Training, execution_mode Mode = detail::mode_of<Training>,
          class = typename detail::verdict_on<detail::timetable_problem<M, jobs::job<M, Training, Mode>>()>::checked>
inline constexpr auto pipeline_slots =
    detail::timetable_answer<M, detail::schedule_problem<jobs::job<M, Training, Mode>>>(
        detail::unchecked_timetable<jobs::job<M, Training, Mode>>.slots());

/// The depth of the queue between a stage's forward and its backward pass.
template <Model M, auto Training, int Stage,
          class = typename detail::verdict_on<
              detail::timetable_problem<M, jobs::job<M, Training, execution_mode::training>>()>::checked>
inline constexpr auto pipeline_fifo_depth =
    detail::timetable_answer<M, detail::schedule_problem<jobs::job<M, Training, execution_mode::training>>>(
        detail::unchecked_timetable<jobs::job<M, Training, execution_mode::training>>.fifo_depth(
            detail::stage_of_timetable<M, Stage>()));

/// Micro-batches of which a stage holds activations at once, with the one that it works on.
template <Model M, auto Training, int Stage,
          class = typename detail::verdict_on<
              detail::timetable_problem<M, jobs::job<M, Training, execution_mode::training>>()>::checked>
inline constexpr auto pipeline_activations_alive =
    detail::timetable_answer<M, detail::schedule_problem<jobs::job<M, Training, execution_mode::training>>>(
        detail::unchecked_timetable<jobs::job<M, Training, execution_mode::training>>.activations_alive(
            detail::stage_of_timetable<M, Stage>()));

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
