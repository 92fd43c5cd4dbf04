// SPDX-License-Identifier: BSD-3-Clause
// The sub-steps of a training step as models, and what they are trained with.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/training/steps/sub_step_graph.hpp>
#include <stagecraft/training/steps/sub_step_layer.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::trainers {

/// The model that a sub-step is planned as: a graph with the layers of the models that it calls, which have kernels of
/// their own, or one layer.
template <class Step, int Number>
using sub_step_model =
    std::conditional_t<has_graphs<Step>, sub_step_graph<Step, Number>, sub_step_in_one_layer<Step, Number>>;

/// The loss of a sub-step: what its layer adds.
struct loss_of_sub_step : loss<loss_of_sub_step> {
  constexpr auto call(auto target, auto output) const { return (target + output) * 0.0F; }
};

/// Number of batches that a step takes for each replica.
template <class Step, step_options Options>
inline constexpr int micro_batches_of_step = [] {
  bool const has_stages = facts_of_step<Step>.members[0].has_stages;
  int const count = has_stages || !Options.gradient_accumulation.given()
                        ? Options.pipeline.gradient_accumulation_steps_per_replica
                        : Options.gradient_accumulation.gradient_accumulation_steps_per_replica;
  return count > 0 ? count : 1;
}();

/// The training of the model of a step that does what `fit` does.
template <class Step, step_options Options>
inline constexpr auto training_of_fit =
    training{.optimizer = optimizer_of_sub_step<Step, 0>,
             .loss = copy_option<Step, type_of_tag<facts_of_step<Step>.loss_of_fit>, -1>(),
             .batch_size = Options.batch_size,
             .steps_per_execution = micro_batches_of_step<Step, Options>,
             .pipeline = Options.pipeline,
             .gradient_accumulation = Options.gradient_accumulation,
             .num_replicas = Options.num_replicas,
             .cross_replica_reduction = Options.cross_replica_reduction,
             .replicated_metric_reduction_method = Options.replicated_metric_reduction_method,
             .seed = Options.seed};

/// An optimizer for weights that have the names of models and layers of a step.
template <class O>
constexpr O optimizer_in_step(O optimizer) {
  if constexpr (requires { optimizer.rates.in_step; }) optimizer.rates.in_step = true;
  if constexpr (requires { optimizer.optimizer.learning_rate; })
    optimizer.optimizer = optimizer_in_step(optimizer.optimizer);
  return optimizer;
}

/// Options with gradients that are averaged, whatever they say.
template <class Options>
constexpr Options averaged_options(Options options) {
  options.reduction_method = gradient_accumulation_reduction_method::mean;
  return options;
}

/// The training of a sub-step; each sub-step draws random numbers of its own. The sources of step.average are the same
/// in all replicas and micro-batches, and their mean is one of them.
template <class Step, int Number, step_options Options>
inline constexpr auto training_of_sub_step = [] {
  constexpr bool is_average = facts_of_step<Step>.sub_steps[Number].is_average;
  return training{
      .optimizer = optimizer_in_step(optimizer_of_sub_step<Step, Number>),
      .loss = loss_of_sub_step{},
      .batch_size = Options.batch_size,
      .steps_per_execution = micro_batches_of_step<Step, Options>,
      .pipeline = is_average ? averaged_options(Options.pipeline) : Options.pipeline,
      .gradient_accumulation = is_average && Options.gradient_accumulation.given()
                                   ? averaged_options(Options.gradient_accumulation)
                                   : Options.gradient_accumulation,
      .num_replicas = Options.num_replicas,
      .cross_replica_reduction = is_average ? cross_replica_reduction::mean : Options.cross_replica_reduction,
      .replicated_metric_reduction_method = Options.replicated_metric_reduction_method,
      .seed = Options.seed + static_cast<std::uint64_t>(Number) * 0x9e3779b97f4a7c15U};
}();

}  // namespace stagecraft::trainers
