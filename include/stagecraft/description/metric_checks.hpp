// SPDX-License-Identifier: BSD-3-Clause
// The rules that the losses and metrics of a training description must follow; each has a code.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/reported_metrics.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/metrics/metric_plan.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/models/queries.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace stagecraft::jobs {

/// E4026, E4027, E4083: metrics for each output that do not fit the outputs.
template <class M>
constexpr void check_metrics_per_output(metrics::metric_list const& list, std::string_view field, diagnostic& problem) {
  constexpr int outputs = static_cast<int>(output_names<M>.size());
  if (list.is_too_long)
    problem.report(4083, "the training's ", field, " are not at most sixteen values of metrics' classes");
  int named = 0;
  for (int entry = 0; entry < list.entries; ++entry) {
    auto const& name = list.outputs[entry];
    if (name.empty()) continue;
    ++named;
    bool found = false;
    for (auto const& output : output_names<M>) found |= output == name;
    if (!found)
      problem.report(4027, "the training's ", field, " are for an output '", name.view(), "', but the ",
                     outputs == 1 ? "output" : "outputs", " of model '", graph_of<M>.name(), "' ",
                     outputs == 1 ? "is '" : "are '", output_names<M>[0].view(), outputs > 1 ? "', '" : "'",
                     outputs > 1 ? output_names<M>[outputs > 1 ? 1 : 0].view() : "", outputs > 1 ? "'" : "",
                     outputs > 2 ? " and so on" : "");
  }
  if (list.entries > 0 && named < list.entries && (named > 0 || list.entries != outputs))
    problem.report(4026, "the training has ", field, " for ", list.entries, list.entries == 1 ? " output" : " outputs",
                   ", ", named == 0 ? "" : "some by name and some by their place, ", "but model '", graph_of<M>.name(),
                   "' has ", outputs, outputs == 1 ? " output" : " outputs",
                   "; give one entry for each output in their order, or each with an output's name");
}

/// E1103: an axis that an output does not have, or whose losses cannot be told from masks.
template <class Job, std::size_t Output>
constexpr void check_axis_of_loss(int axis, std::string_view kind, std::string_view name, diagnostic& problem) {
  constexpr int call = outputs_of<typename Job::model>[Output];
  shape const& sample = Job::graph.call(call).shape;
  int const found = losses::detail::axis_of_sample(axis, sample);
  if (found < 0)
    problem.report(1103, kind, " '", name, "' has axis ", axis, ", which output '", Job::graph.layer_of(call).name,
                   "' of shape ", sample,
                   " does not have; 1 is its first axis, and 0 that of the batch, along which "
                   "nothing is measured");
  else if (found < sample.rank() - 1 && sample.size() > losses::detail::most_values_along_axis)
    problem.report(1103, kind, " '", name, "' has axis ", axis, ", but output '", Job::graph.layer_of(call).name,
                   "' has ", sample.size(), " values; along another axis than the last one they are at most ",
                   losses::detail::most_values_along_axis);
  else if (found < sample.rank() - 1 && Job::graph.mask_of(call) != nullptr)
    problem.report(1103, kind, " '", name, "' has axis ", axis, ", but output '", Job::graph.layer_of(call).name,
                   "' has masked steps, which only what is measured along the last axis can leave out");
}

/// E1102: weights of labels that are not those of the columns, thresholds that are no probabilities, or too many of
/// both.
constexpr void check_numbers_of_metric(metrics::metric const& of, std::string_view output, int width,
                                       diagnostic& problem) {
  auto const options = own_from<metrics::detail::confusion_options>(of.options);
  int const thresholds = options.given(), weights = of.numbers.count - thresholds;
  if (of.numbers.is_too_long())
    problem.report(1102, "metric '", of.name(), "' has ", of.numbers.count,
                   " thresholds and label_weights; together they are at most ", number_list::capacity);
  else if (weights != 0 && weights != width)
    problem.report(1102, "metric '", of.name(), "' has ", weights, " label_weights for the ", width,
                   " values of output '", output, "'; give it one for each, or none");
  auto const is_probability = [](float threshold) { return threshold >= 0 && threshold <= 1; };
  bool right = options.spacing != metrics::detail::threshold_spacing::one || is_probability(options.threshold) ||
               options.threshold == metrics::detail::no_threshold;
  for (int i = 0; i < thresholds && i < of.numbers.kept(); ++i) right = right && is_probability(of.numbers.numbers[i]);
  if (!right && !problem.failed())
    problem.report(1102, "metric '", of.name(), "' has a threshold that is not between 0 and 1");
}

/// E4023: a metric that wants class numbers where the loss takes floats, or the other way round.
template <class Job, std::size_t Output>
constexpr void check_metrics_of_output(diagnostic& problem) {
  if constexpr (losses::detail::HasLossOfSample<decltype(losses::loss_of_output<Output>(Job::training.loss))>) return;
  constexpr bool sparse = losses::loss_of_output<Output>(Job::training.loss).sparse_targets;
  constexpr int axis_of_loss = losses::detail::axis_of(losses::loss_of_output<Output>(Job::training.loss));
  constexpr int call = outputs_of<typename Job::model>[Output];
  auto const width = Job::graph.call(call).shape.back();
  for (auto const& each : reported_metrics<Job>)
    if (each.output == Output && !metrics::fits_targets(each.metric, sparse, width))
      problem.report(4023, "metric '", each.metric.name(), "' does not fit output '", Job::graph.layer_of(call).name,
                     "' of ", width, " values, whose loss takes ", sparse ? "class numbers" : "one target per value",
                     "; choose the metric with or without sparse_, or metrics::accuracy");
  for (auto const& each : reported_metrics<Job>) {
    if (each.output != Output) continue;
    if (each.metric.kind == metrics::metric_kind::confusion)
      check_numbers_of_metric(each.metric, Job::graph.layer_of(call).name, width, problem);
    else if (each.metric.scales_columns && each.metric.numbers.is_too_long())
      problem.report(1102, "metric '", each.metric.name(), "' has ", each.metric.numbers.count,
                     " numbers in its normalizer, which are at most ", number_list::capacity);
    else if (each.metric.scales_columns && each.metric.numbers.count != width)
      problem.report(1102, "metric '", each.metric.name(), "' has ", each.metric.numbers.count,
                     " numbers in its normalizer for the ", width, " values of output '",
                     Job::graph.layer_of(call).name, "'; give it one for each, or one for all");
    check_axis_of_loss<Job, Output>(each.metric.along - 1, "metric", each.metric.name(), problem);
    using losses::detail::axis_of_sample;
    shape const& sample = Job::graph.call(call).shape;
    int const along = each.metric.along - 1;
    if (sparse && !problem.failed() && axis_of_sample(along, sample) != axis_of_sample(axis_of_loss, sample))
      problem.report(1103, "metric '", each.metric.name(), "' has axis ", along, ", but the loss of output '",
                     Job::graph.layer_of(call).name, "' takes class numbers along axis ", axis_of_loss,
                     "; both take the same ones");
  }
}

/// E1130 to E1132, E4131: an output that is no sequence of logits, or one with masks or metrics; a number of labels
/// that does not fit it.
template <class Job, std::size_t Output>
constexpr void check_sequence_loss(std::string_view name, int labels, diagnostic& problem) {
  constexpr int call = outputs_of<typename Job::model>[Output];
  shape const& sample = Job::graph.call(call).shape;
  auto const& layer = Job::graph.layer_of(call).name;
  if (sample.rank() != 2 || sample[1] < 2)
    problem.report(1130, "loss '", name,
                   "' takes an output of shape (steps, classes), of two classes or more, but output '", layer,
                   "' has shape ", sample);
  else if (labels < 0 || labels > sample[0])
    problem.report(1131, "loss '", name, "' has max_label_length ", labels, ", but output '", layer, "' has ",
                   sample[0], sample[0] == 1 ? " step" : " steps", ", of which each has one label at most");
  else if (Job::graph.mask_of(call) != nullptr)
    problem.report(
        1132, "loss '", name, "' counts all steps of a sample, but output '", layer,
        "' has masked steps; end the mask with a lambda layer, or compute ops.ctc_loss in a layer's add_loss");
  for (auto const& each : reported_metrics<Job>)
    if (each.output == Output && !problem.failed())
      problem.report(4131, "metric '", each.metric.name(), "' is of output '", layer, "', whose loss '", name,
                     "' takes labels that have no places on its steps; decode predictions with sc::ctc_decode, and "
                     "compare the labels");
}

template <class Job, std::size_t Output>
constexpr void check_loss_of_sequences(diagnostic& problem) {
  auto const& loss = losses::loss_of_output<Output>(Job::training.loss);
  if constexpr (requires { loss.max_label_length; })
    if (!problem.failed()) check_sequence_loss<Job, Output>(loss.name, loss.max_label_length, problem);
}

/// E1070: a loss that is written as a `call` and does not fit the output.
template <class Job, std::size_t Output>
constexpr void check_loss_of_output(diagnostic& problem) {
  constexpr auto loss = losses::loss_of_output<Output>(Job::training.loss);
  if constexpr (losses::detail::HasLossOfSample<decltype(loss)>) return;
  check_axis_of_loss<Job, Output>(losses::detail::axis_of(loss), "loss", loss.name, problem);
  if constexpr (HasLossCall<decltype(loss)>)
    if (auto const found =
            trace_loss(loss, Job::graph.call(outputs_of<typename Job::model>[Output]).shape.back()).list.problem;
        found.failed() && !problem.failed())
      problem = found;
}

/// E1070: a metric that is written as a `call` and does not fit an output.
template <class Job>
constexpr void check_calls_of_metrics(diagnostic& problem) {
  constexpr auto sparse = []<std::size_t... Output>(std::index_sequence<Output...>) {
    return std::array{bool{losses::loss_of_output<Output>(Job::training.loss).sparse_targets}...};
  }(std::make_index_sequence<output_names<typename Job::model>.size()>{});
  for (auto const& each : reported_metrics<Job>) {
    if (problem.failed()) return;
    if (each.metric.rules == nullptr || !(each.metric.rules->takes_ops || each.metric.result != nullptr)) continue;
    auto const call = [&](auto& ops, auto target, auto output) {
      return each.metric.rules->call(each.metric.options, ops, target, output);
    };
    int const columns = Job::graph.call(Job::graph.outputs_of(0)[each.output]).shape.back();
    problem =
        each.metric.result != nullptr
            ? trace_metric_sums(each.metric, sparse[each.output], 2, columns).list.problem
            : trace_row(call, columns, sparse[each.output] ? 1 : columns, "metric", each.metric.name()).list.problem;
  }
}

/// E4028: two metrics that logs would not tell apart.
template <class Job>
constexpr void check_names_of_metrics(diagnostic& problem) {
  auto const& all = reported_metrics<Job>;
  for (auto const& each : all)
    for (auto const* other = all.begin(); other != &each; ++other)
      if (each.has_name_of(*other)) {
        problem.report(4028, "the training has two metrics '", each.says_so ? "weighted_" : "", each.metric.name(),
                       "' of output '", output_names<typename Job::model>[each.output].view(),
                       "'; names of metrics are unique");
        return;
      }
}

}  // namespace stagecraft::jobs
