// SPDX-License-Identifier: BSD-3-Clause
// The rules that a training description must follow, alone and with its model; each has a code. Level 4.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/program/training.hpp>
#include <cstddef>

namespace stagecraft::detail {

/// E4020 and E4021, E2020 to E2022: numbers of samples and steps.
template <class Training>
constexpr void check_steps_of_training(Training const& training, bool pipelined, diagnostic& problem) {
  auto const& pipeline = training.pipeline;
  int const accumulation = pipeline.gradient_accumulation_steps_per_replica;
  if (training.batch_size < 1)
    problem.report(4020, "the training has batch_size ", training.batch_size, "; it must be at least 1");
  if (training.steps_per_execution < 1)
    problem.report(4021, "the training has steps_per_execution ", training.steps_per_execution,
                   "; it must be at least 1");
  if (accumulation < 0)
    problem.report(2020, "the training has gradient_accumulation_steps_per_replica ", accumulation,
                   "; it must be at least 1, or 0 if it is not set");
  if (pipelined && accumulation == 0 && pipeline.schedule != schedule::sequential)
    problem.report(2022,
                   "the model has pipeline stages, but its training has no gradient_accumulation_steps_per_replica; "
                   "a pipeline is trained on several micro-batches per weight update");
  if (accumulation > 1 && training.steps_per_execution % accumulation != 0)
    problem.report(2021, "the training has steps_per_execution ", training.steps_per_execution,
                   ", which is not a multiple of gradient_accumulation_steps_per_replica ", accumulation);
}

/// E4023: a metric that wants class numbers where the loss takes floats, or the other way round.
template <class M, auto Training, std::size_t Output>
constexpr void check_metrics_of_output(diagnostic& problem) {
  constexpr bool sparse = losses::loss_of_output<Output>(Training.loss).sparse_targets;
  constexpr int call = outputs_of<M>[Output];
  auto const width = graph_of<M>.call(call).shape.back();
  for (auto const& metric : Training.metrics)
    if (!metrics::fits_targets(metric, sparse, width))
      problem.report(4023, "metric '", metric.name(), "' does not fit output '", graph_of<M>.layer_of(call).name,
                     "' of ", width, " values, whose loss takes ", sparse ? "class numbers" : "one target per value",
                     "; choose the metric with or without sparse_, or metrics::accuracy");
}

template <class M, auto Training, std::size_t... Output>
constexpr diagnostic find_training_problem(std::index_sequence<Output...>) {
  diagnostic problem;
  check_steps_of_training(Training, is_pipelined<M>, problem);
  if constexpr (requires { decltype(Training.loss)::size; }) {
    constexpr int losses = decltype(Training.loss)::size;
    if (losses != static_cast<int>(sizeof...(Output)))
      problem.report(4022, "the training has ", losses, " losses, but model '", graph_of<M>.name(), "' has ",
                     static_cast<int>(sizeof...(Output)), sizeof...(Output) == 1 ? " output" : " outputs",
                     "; give one loss for each output, or one for all");
  }
  constexpr int weights = Training.loss_weights.count;
  if (weights != 0 && weights != static_cast<int>(sizeof...(Output)))
    problem.report(4025, "the training has ", weights, weights == 1 ? " loss weight" : " loss weights", ", but model '",
                   graph_of<M>.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   sizeof...(Output) == 1 ? " output" : " outputs", "; give one weight for each output, or none");
  if (sizeof...(Output) > output_weights::capacity)
    problem.report(4024, "model '", graph_of<M>.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   " outputs; a model that is trained has at most ", output_weights::capacity);
  if (!problem.failed()) (check_metrics_of_output<M, Training, Output>(problem), ...);
  return problem;
}

/// The first rule that a training description breaks.
template <Model M, auto Training>
inline constexpr diagnostic training_problem =
    find_training_problem<M, Training>(std::make_index_sequence<graph_of<M>.outputs_of(0).size()>());

}  // namespace stagecraft::detail
