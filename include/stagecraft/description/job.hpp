// SPDX-License-Identifier: BSD-3-Clause
// What is planned, priced and carried out: a model, what it is trained with, the mode and the machine, as one type.
// Trainers, predictors and profiles make one each; all rooms above take it as `Job`.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/inference.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/models/queries.hpp>

namespace stagecraft::jobs {

/// A model in one mode on one machine. `Settings` is a description of a training or of an inference, as it holds on the
/// machine (training_on); whatever is the same on all machines, such as a plan, is made for machine_without_limit.
///
/// Templates take a `class Job`, and after it what they are about: a pass, a device, a call. Those whose answers depend
/// on less than the whole job are asked with `planned` or `described`, so that training, evaluation and other machines
/// find the same constant.
template <class M, class Settings, execution_mode Mode, class Machine>
struct job_of {
  using model = M;
  using machine = Machine;
  static constexpr auto training = Settings::value;
  static constexpr execution_mode mode = Mode;
  /// True if weights are updated.
  static constexpr bool trains = Mode == execution_mode::training;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr pipelining_options options = options_of<M, training>;
  static constexpr int replicas = replicas_of<M, training, Machine>;

  /// This job in training, whatever its own mode is.
  using in_training = job_of<M, Settings, execution_mode::training, Machine>;
  /// This job in evaluation and prediction.
  using in_inference = job_of<M, Settings, execution_mode::inference, Machine>;
  template <execution_mode Other>
  using in = job_of<M, Settings, Other, Machine>;
  /// This job on another machine.
  template <class Other>
  using on = job_of<M, Settings, Mode, Other>;
  /// This job for another model.
  template <class Other>
  using of = job_of<Other, Settings, Mode, Machine>;
  /// This job without its machine: passes, rings and timetables are the same on all machines.
  using planned = job_of<M, Settings, Mode, machine_without_limit>;
  /// The model and its description alone, in the mode that the description is for.
  using described = job_of<M, Settings, mode_of<training>, machine_without_limit>;
};

template <class M, auto Training, execution_mode Mode = mode_of<Training>, class Machine = machine_without_limit>
using job = job_of<M, settings_of<Training>, Mode, Machine>;

}  // namespace stagecraft::jobs
