// SPDX-License-Identifier: BSD-3-Clause
// The rules that a training description must follow, alone and with its model; each has a code.
#pragma once

#include <stagecraft/description/dtype_policy.hpp>
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/output_masks.hpp>
#include <stagecraft/description/pipeline_checks.hpp>
#include <stagecraft/description/reported_metrics.hpp>
#include <stagecraft/description/stage_options_checks.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/machine/ipu_devices.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/metrics/metric_plan.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/models/output_names.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::detail {

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
  if (of.numbers.count > number_list::capacity)
    problem.report(1102, "metric '", of.name(), "' has ", thresholds, " thresholds and ", weights,
                   " label_weights; together they are at most ", number_list::capacity);
  else if (weights != 0 && weights != width)
    problem.report(1102, "metric '", of.name(), "' has ", weights, " label_weights for the ", width,
                   " values of output '", output, "'; give it one for each, or none");
  auto const is_probability = [](float threshold) { return threshold >= 0 && threshold <= 1; };
  bool right = options.spacing != metrics::detail::threshold_spacing::one || is_probability(options.threshold) ||
               options.threshold == metrics::detail::no_threshold;
  for (int i = 0; i < thresholds; ++i) right = right && is_probability(of.numbers.numbers[i]);
  if (!right && !problem.failed())
    problem.report(1102, "metric '", of.name(), "' has a threshold that is not between 0 and 1");
}

/// E4023: a metric that wants class numbers where the loss takes floats, or the other way round.
template <class Job, std::size_t Output>
constexpr void check_metrics_of_output(diagnostic& problem) {
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
    else if (!each.metric.numbers.empty() && each.metric.numbers.count != width)
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

/// E1070: a loss that is written as a `call` and does not fit the output.
template <class Job, std::size_t Output>
constexpr void check_loss_of_output(diagnostic& problem) {
  constexpr auto loss = losses::loss_of_output<Output>(Job::training.loss);
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

/// E1070: an initializer, a constraint or a regularizer that does not fit a weight.
template <class M>
constexpr void check_functions_of_weights(diagnostic& problem) {
  for (auto const& weight : graph_of<M>.parameters) {
    if (!problem.failed() && !weight.constraint.empty() && weight.trainable)
      problem = trace_constraint(weight.constraint, weight.shape).list.problem;
    if (!problem.failed() && weight.initializer.rules != nullptr)
      problem = trace_initializer(weight.initializer, weight.shape).list.problem;
    if (!problem.failed() && weight.regularizer.is_own())
      problem = trace_penalty(weight.regularizer, weight.shape, false).list.problem;
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

/// The rules of numbers that a training and an inference have.
template <class M, auto Description>
constexpr void check_options_of_runs(checked_options const& checked, diagnostic& problem) {
  if (Description.batch_size < 1)
    problem.report(4020, checked.subject(), " has batch_size ", Description.batch_size, "; it must be at least 1");
  if (int const fixed = graph_of<M>.batch_size(); fixed != 0 && Description.batch_size != fixed)
    problem.report(4029, checked.subject(), " has batch_size ", Description.batch_size, ", but the inputs of model '",
                   graph_of<M>.name(), "' have ", fixed, "; give both the same one, or none to the inputs");
  check_steps_per_execution(checked, problem);
  check_number_of_replicas(checked, Description.num_replicas, problem);
  check_queues(checked, Description.infeed_queue, Description.outfeed_queue, Description.asynchronous_callbacks,
               problem);
  check_storage(checked, problem);
  check_poplar_options_of_stages(checked, problem);
}

/// The first rule that an inference breaks.
template <class Job>
constexpr diagnostic find_inference_problem() {
  diagnostic problem;
  auto const checked = options_to_check<Job>();
  check_options_of_runs<typename Job::model, Job::training>(checked, problem);
  check_schedule(checked, false, problem);
  if (!problem.failed()) check_execution_of_schedule(checked, problem);
  return problem;
}

/// The rules of all numbers and options, of a model with stages or without. Those of training hold where it is said how
/// weights are updated; where it is not, the model can be evaluated, and `fit_problem` says why it cannot be trained.
template <class Job>
constexpr void check_options_of_training(diagnostic& problem) {
  auto const checked = options_to_check<Job>();
  check_options_of_runs<typename Job::model, Job::training>(checked, problem);
  check_accumulation(checked, problem);
  check_outfeed(checked, problem);
  check_recomputation(checked, problem);
  check_schedule(checked, checked.trains(), problem);
  if (!checked.trains()) return;
  check_state_of_layers(checked, problem);
  if (!problem.failed()) check_accumulation_of_schedule(checked, problem);
  if (!problem.failed()) check_execution_of_updates(checked, problem);
}

/// E4106: a number for the batch cannot be added to a loss for each row.
template <class Job>
constexpr void check_added_losses(int not_reduced, diagnostic& problem) {
  constexpr auto const& graph = Job::graph;
  auto const outputs = graph.outputs_of(0);
  bool has_penalty = graph.ends.size() > outputs.size();
  for (parameter const& weight : graph.parameters) has_penalty = has_penalty || !weight.regularizer.empty();
  bool is_alike = not_reduced == static_cast<int>(outputs.size());
  for (int const call : outputs)
    is_alike = is_alike && graph.call(call).shape.size() / graph.call(call).shape.back() ==
                               graph.call(outputs[0]).shape.size() / graph.call(outputs[0]).shape.back();
  if (has_penalty || !is_alike)
    problem.report(
        4106, "a loss of the training has losses::reduction::none, but model '", graph.name(), "' ",
        has_penalty ? "adds penalties to the loss" : "has outputs whose losses are reduced, or are those of other rows",
        "; a number cannot be added to a loss for each row: sum gives the same gradients");
}

template <class Job, std::size_t... Output>
constexpr diagnostic find_training_problem(std::index_sequence<Output...>) {
  diagnostic problem = optimizer_problem<Job::training.optimizer>;
  check_options_of_training<Job>(problem);
  if constexpr (requires { decltype(Job::training.loss)::size; }) {
    constexpr int losses = decltype(Job::training.loss)::size;
    if (losses != static_cast<int>(sizeof...(Output)))
      problem.report(4022, "the training has ", losses, " losses, but model '", Job::graph.name(), "' has ",
                     static_cast<int>(sizeof...(Output)), sizeof...(Output) == 1 ? " output" : " outputs",
                     "; give one loss for each output, or one for all");
  }
  constexpr int not_reduced =
      (0 + ... +
       (losses::detail::reduction_of(losses::loss_of_output<Output>(Job::training.loss)) == losses::reduction::none));
  if (not_reduced > 0) check_added_losses<Job>(not_reduced, problem);
  constexpr int weights = Job::training.loss_weights.count;
  if (weights != 0 && weights != static_cast<int>(sizeof...(Output)))
    problem.report(4025, "the training has ", weights, weights == 1 ? " loss weight" : " loss weights", ", but model '",
                   Job::graph.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   sizeof...(Output) == 1 ? " output" : " outputs", "; give one weight for each output, or none");
  if (sizeof...(Output) > output_weights::capacity)
    problem.report(4024, "model '", Job::graph.name(), "' has ", static_cast<int>(sizeof...(Output)),
                   " outputs; a model that is trained has at most ", output_weights::capacity);
  for (int const call : Job::graph.outputs_of(0))
    if (!is_mask_of_inputs(Job::graph, call))
      problem.report(4093, "output '", Job::graph.layer_of(call).name, "' of model '", Job::graph.name(),
                     "' has masked steps, which its loss can leave out only if an input of the model tells them, and "
                     "the output's first axis is that of the steps; end the mask with a lambda layer if all steps are "
                     "to count");
  check_metrics_per_output<typename Job::model>(Job::training.metrics, "metrics", problem);
  check_metrics_per_output<typename Job::model>(Job::training.weighted_metrics, "weighted_metrics", problem);
  if (!problem.failed()) (check_metrics_of_output<Job, Output>(problem), ...);
  if (!problem.failed()) (check_loss_of_output<Job, Output>(problem), ...);
  if (!problem.failed()) check_calls_of_metrics<Job>(problem);
  if (!problem.failed()) check_names_of_metrics<Job>(problem);
  if (!problem.failed()) check_functions_of_weights<typename Job::model>(problem);
  return problem;
}

/// The first rule that a description of a training or of an inference breaks.
template <class Job>
inline constexpr diagnostic training_problem = [] {
  if constexpr (only_infers<Job::training>)
    return find_inference_problem<Job>();
  else
    return find_training_problem<Job>(std::make_index_sequence<Job::graph.outputs_of(0).size()>());
}();

/// E2061: the types that values and weights may have on a machine.
constexpr void check_dtype_policy(std::string_view subject, dtype_policy const& policy, bool has_bfloat16,
                                  diagnostic& problem) {
  auto const check = [&](dtype type, std::string_view which) {
    if (type != dtype::float32 && !is_half(type))
      problem.report(2061, subject, "'s dtype_policy has the ", which, ' ', name(type),
                     "; it must be float32, float16 or bfloat16");
    else if (type == dtype::bfloat16 && !has_bfloat16)
      problem.report(2061, subject, "'s dtype_policy has the ", which,
                     " bfloat16, which IPUs do not have; choose dtype_policies::mixed_float16, or sc::host<> as the "
                     "machine");
  };
  check(policy.compute_dtype, "compute_dtype");
  check(policy.variable_dtype, "variable_dtype");
}

/// E1120, E1121, E1122, E2061: types that single layers may have on a machine, and which of them the host may carry out
/// beside IPUs.
constexpr void check_layers_on_machine(graph_view const& graph, dtype_policy const& policy, bool has_ipus, bool trains,
                                       diagnostic& problem) {
  auto half = is_half(policy.compute_dtype) ? policy.compute_dtype : dtype::float32;
  for (auto const& layer : graph.layers) {
    auto const type = layer.type_of_values;
    if (type == dtype::of_policy) continue;
    if (type != dtype::float32 && !is_half(type))
      problem.report(1120, "layer '", layer.name, "' has dtype ", name(type),
                     "; a layer computes in float32, float16 or bfloat16");
    else if (type == dtype::bfloat16 && has_ipus)
      problem.report(2061, "layer '", layer.name,
                     "' has dtype bfloat16, which IPUs do not have; choose float16, or sc::host<> as the machine");
    else if (is_half(type) && is_half(half) && type != half)
      problem.report(1120, "layer '", layer.name, "' has dtype ", name(type), ", but others compute in ", name(half),
                     "; a model has one type of 16 bits");
    if (is_half(type)) half = type;
  }
  if (!has_ipus) return;
  // Behind IPUs: what depends on something that an IPU computes.
  growing_array<char> behind(graph.calls.size(), 0);
  growing_array<int> host_behind(graph.calls.size(), -1);
  for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) {
    bool const on_host = is_on_host(graph, i);
    auto const& layer = graph.layer_of(i);
    if (on_host && trains)
      problem.report(1121, "layer '", layer.name,
                     "' is carried out by the host, but the model is trained on IPUs; on_host() is for predictors");
    for (int const input : graph.inputs_of(i)) {
      behind[i] = behind[i] || behind[input];
      if (host_behind[input] >= 0) host_behind[i] = host_behind[input];
    }
    if (on_host && behind[i]) host_behind[i] = i;
    if (!on_host && !graph.call(i).is_input) {
      if (host_behind[i] >= 0 && !graph.call(i).is_part())
        problem.report(1122, "layer '", graph.layer_of(host_behind[i]).name, "' is carried out by the host, between '",
                       layer.name,
                       "' and layers before it, which are on IPUs; the host has layers at the beginning and "
                       "at the end of a model");
      behind[i] = 1;
    }
  }
}

/// E2062: what has kernels for the host alone.
template <auto Training, std::size_t... Output>
constexpr void check_functions_on_tiles(std::index_sequence<Output...>, diagnostic& problem) {
  if (!(HasLossCall<std::remove_cvref_t<decltype(losses::loss_of_output<Output>(Training.loss))>> && ...))
    problem.report(2062,
                   "the training has a loss of its own, which emulated IPUs cannot compute; write it as a `call`, "
                   "choose one of this library, or the host as the machine");
}

/// E2064: a constraint or a regularizer that tiles do not carry out.
template <class M, std::size_t... Parameter>
constexpr void check_weights_on_tiles(std::index_sequence<Parameter...>, diagnostic& problem) {
  auto const check = [&](operations::plan_view const& plan, std::string_view kind, std::string_view name,
                         parameter const& weight) {
    if (!has_weight_lowering(plan))
      problem.report(2064, kind, " '", name, "' of weight '", weight.name.view(),
                     "' has operations that emulated IPUs do not have for weights; they have maps, reshapes, and sums "
                     "and maxima over neighbouring axes");
  };
  auto const check_weight = [&]<std::size_t Index>() {
    constexpr parameter const& weight = graph_of<M>.parameters[Index];
    if constexpr (!weight.constraint.empty() && weight.trainable)
      check(plan_of_constraint<weight.constraint, weight.shape>::value, "constraint", weight.constraint.rules->name,
            weight);
    if constexpr (weight.regularizer.is_own() && weight.trainable) {
      check(plan_of_penalty<weight.regularizer, weight.shape, false>::value, "regularizer",
            weight.regularizer.rules->name, weight);
      check(plan_of_penalty<weight.regularizer, weight.shape, true>::value, "regularizer",
            weight.regularizer.rules->name, weight);
    }
  };
  // A list: Clang folds no more than 256 operands.
  [[maybe_unused]] int const done[] { 0, (check_weight.template operator()<Parameter>(), 0)... };
}

/// The first rule that a description breaks with a machine.
template <class Job>
inline constexpr diagnostic machine_problem = [] {
  diagnostic problem;
  constexpr auto subject = checked_options::subject_of(only_infers<Job::training>);
  check_devices_of_machine(subject, Job::graph.name(), Job::training.num_replicas, shards_of<typename Job::model>,
                           Job::machine::devices, problem);
  check_states_of_replicas(subject, Job::graph, replicas_of<typename Job::model, Job::training, typename Job::machine>,
                           problem);
  check_dtype_policy(subject, Job::training.dtype_policy, !is_ipu<typename Job::machine>, problem);
  check_layers_on_machine(Job::graph, Job::training.dtype_policy, is_ipu<typename Job::machine>,
                          !only_infers<Job::training>, problem);
  if constexpr (is_ipu<typename Job::machine> && !only_infers<Job::training>) {
    check_functions_on_tiles<Job::training>(std::make_index_sequence<Job::graph.outputs_of(0).size()>(), problem);
    check_weights_on_tiles<typename Job::model>(std::make_index_sequence<Job::graph.parameters.size()>(), problem);
  }
  return problem;
}();

}  // namespace stagecraft::detail
