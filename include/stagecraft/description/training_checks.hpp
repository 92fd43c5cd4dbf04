// SPDX-License-Identifier: BSD-3-Clause
// The rules that a training description must follow, alone and with its model; each has a code. Outputs that a loss
// misreads (probabilities after a linear layer, logits after softmax) are no errors: a trainer warns of them.
#pragma once

#include <stagecraft/activations/activation_formula.hpp>
#include <stagecraft/description/dtype_policy.hpp>
#include <stagecraft/description/job.hpp>
#include <stagecraft/description/metric_checks.hpp>
#include <stagecraft/description/output_masks.hpp>
#include <stagecraft/description/pipeline_checks.hpp>
#include <stagecraft/description/reported_metrics.hpp>
#include <stagecraft/description/stage_options_checks.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/models/last_activation.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::jobs {

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

/// E1083: an activation of the user's own that takes too many operations. Its gradient is traced where a model is run,
/// since models that are only described would compile longer with it.
template <class M>
inline constexpr diagnostic own_activation_problem = [] {
  diagnostic problem;
  constexpr bool has_any = [] {
    for (auto const& layer : graph_of<M>.layers)
      if (layer.has_own_activation) return true;
    return false;
  }();
  if constexpr (has_any)
    for_each_index<graph_of<M>.layers.size()>([&]<int Index>() {
      constexpr auto const& layer = graph_of<M>.layers[Index];
      if constexpr (layer.has_own_activation)
        if (!problem.failed()) problem = activation_formula_problem<layer_of<M, layer.first_call>.activation>;
    });
  return problem;
}();

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

/// E2103: checks rates of layers in an optimizer, or in one that it wraps.
template <class O>
constexpr void check_layer_rates(O const& optimizer, graph_view const& graph, diagnostic& problem) {
  if constexpr (requires { optimizer.check_rates(graph, problem); }) optimizer.check_rates(graph, problem);
  if constexpr (requires { optimizer.optimizer.learning_rate; }) check_layer_rates(optimizer.optimizer, graph, problem);
}

template <class Job, std::size_t... Output>
constexpr diagnostic find_training_problem(std::index_sequence<Output...>) {
  diagnostic problem = optimizer_problem<Job::training.optimizer>;
  if constexpr (requires { Job::training.optimizer.optimizer.learning_rate; })
    check_layer_rates(Job::training.optimizer, Job::graph, problem);
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
  for (float const weight : Job::training.loss_weights.values)
    if (!(weight >= -std::numeric_limits<float>::max() && weight <= std::numeric_limits<float>::max()))
      problem.report(4025, "the training has a loss weight that is not a finite number");
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
  if (!problem.failed()) (check_loss_of_sequences<Job, Output>(problem), ...);
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
  // `behind` marks the calls that depend on a call of an IPU.
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

/// E2062: a loss that has kernels for the host alone.
template <auto Training, std::size_t... Output>
constexpr void check_functions_on_tiles(std::index_sequence<Output...>, diagnostic& problem) {
  auto const has_call = []<class Loss>(Loss const&) {
    return HasLossCall<Loss> || losses::detail::HasLossOfSample<Loss>;
  };
  if (!(has_call(losses::loss_of_output<Output>(Training.loss)) && ...))
    problem.report(2062,
                   "the training has a loss of its own, which emulated IPUs cannot compute; write it as a `call`, "
                   "choose one of this library, or the host as the machine");
}

/// E2064: a constraint or a regularizer that tiles do not carry out.
template <class M>
constexpr void check_weights_on_tiles(diagnostic& problem) {
  auto const check = [&](operations::plan_view const& plan, std::string_view kind, std::string_view name,
                         parameter const& weight) {
    if (!has_weight_lowering(plan))
      problem.report(2064, kind, " '", name, "' of weight '", weight.name.view(),
                     "' has operations that emulated IPUs do not have for weights; they have maps, reshapes, and sums "
                     "and maxima over neighbouring axes");
  };
  for_each_index<graph_of<M>.parameters.size()>([&]<int Index>() {
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
  });
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
    check_weights_on_tiles<typename Job::model>(problem);
  }
  return problem;
}();

/// The ways in which a loss can misread an output.
enum class misread_output : unsigned char { none, logits_as_probabilities, probabilities_as_logits };

template <class M, auto Training, std::size_t Output>
constexpr misread_output find_misread_output() {
  constexpr auto const& loss = losses::loss_of_output<Output>(Training.loss);
  constexpr auto const& last = last_activations_of<M>[Output];
  if constexpr (requires { loss.from_logits; }) {
    if (last.is_known && !loss.from_logits && last.function.kind == activation_kind::linear && !last.is_layer)
      return misread_output::logits_as_probabilities;
    if (last.has_logits() && loss.from_logits) return misread_output::probabilities_as_logits;
  }
  return misread_output::none;
}

/// The first output that its loss misreads, unless the description says that it is meant.
template <class M, auto Training>
inline constexpr misread_output misread_output_of = [] {
  misread_output result = misread_output::none;
  if constexpr (!Training.outputs_are_meant)
    for_each_index<graph_of<M>.outputs_of(0).size()>([&]<int Output>() {
      if (result == misread_output::none) result = find_misread_output<M, Training, Output>();
    });
  return result;
}();

}  // namespace stagecraft::jobs
