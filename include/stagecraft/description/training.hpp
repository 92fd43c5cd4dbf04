// SPDX-License-Identifier: BSD-3-Clause
// What a model is trained with, as a compile-time description: Keras's `compile` arguments.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>

#include <stagecraft/description/dtype_policy.hpp>
#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replication.hpp>
#include <stagecraft/description/settings.hpp>
#include <stagecraft/diagnostics/any_argument.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/type_name.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/losses/per_output.hpp>
#include <stagecraft/metrics/metrics.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/optimizers/schedules/schedules.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/threads/queue_options.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace stagecraft::jobs {

/// Keras's `loss_weights`: the weight of each output's loss in the total, 1 by default.
struct output_weights {
  static constexpr int capacity = 64;
  float values[capacity]{};  ///< the weights that are given, then zeros, which compilers leave out of long names
  int count = 0;  ///< the number of weights that are given, even if there is no room for them (E4025); 0: none

  constexpr output_weights() = default;
  template <class... Weights>
    requires(sizeof...(Weights) >= 1)
  constexpr output_weights(Weights... weight) {
    float const given[]{static_cast<float>(weight)...};
    for (float const each : given) {
      if (count < capacity) values[count] = each;
      ++count;
    }
  }

  /// The weight of an output's loss.
  [[nodiscard]] constexpr float of(std::size_t output) const noexcept { return count == 0 ? 1.0F : values[output]; }
};

}  // namespace stagecraft::jobs

namespace stagecraft {

/// Keras's `compile`, and what Keras takes at `fit` but a compiled plan must know before: the batch size.
///
///     inline constexpr auto training = sc::training{
///         .optimizer = sc::optimizers::adam{},
///         .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
///         .metrics = sc::metrics::accuracy{},
///         .batch_size = 64};
///
/// Each field can be left out, but C++ demands their order, which is Keras's where Keras has them: `optimizer`, `loss`,
/// `metrics`, `loss_weights`, `weighted_metrics`, `batch_size`, `steps_per_execution`, `pipeline`,
/// `gradient_accumulation`, `num_replicas`, `cross_replica_reduction`, `replicated_metric_reduction_method`,
/// `infeed_queue`, `outfeed_queue`, `asynchronous_callbacks`, `dtype_policy`, `seed`, `outputs_are_meant`,
/// `overlaps_io`.
///
/// Checked with the model, where a trainer is named: E4020 batch_size, E4021 steps_per_execution, E4022 to E4028
/// losses, metrics, outputs and loss weights; E4029 inputs of another batch size; E2020 to E2022, E2024, E2026 gradient
/// accumulation; E2027 to E2039, E2047, E2048, E2059, E2065 the other options of pipelines; E2040 to E2043 queues;
/// E2044 to E2046, E2049 replicas and devices.
// Compilers show the next line where a field is wrong.
template <class Loss = losses::mean_squared_error, class Optimizer = optimizers::rmsprop>
struct training {  // [E2082] a field is misspelt, or its value has another type, such as one without braces
  /// The optimizer that updates the weights, with its learning rate: a value, such as `sc::optimizers::adam{}`.
  Optimizer optimizer = {};
  /// One loss for all outputs, or `losses::per_output(...)`.
  Loss loss = {};
  /// One metric, several in braces, or `metrics::per_output(...)`. They are not weighted by sample and class weights.
  stagecraft::metrics::metric_list metrics = {};
  /// The weight of each output's loss in the total, such as `{1, 0.2}`; 1 for all where none is given.
  jobs::output_weights loss_weights = {};
  /// Metrics that are means weighted by sample and class weights. Where an output has a metric of that
  /// name already, it is reported with "weighted_" before it.
  stagecraft::metrics::metric_list weighted_metrics = {};
  /// Samples per step (per micro-batch, where gradients are accumulated).
  int batch_size = 32;
  /// Steps that run between two looks of the callbacks and of the progress bar.
  int steps_per_execution = 1;
  /// The options of a model with stages. Where `gradient_accumulation` is not given, a model without stages takes from
  /// it how gradients are accumulated, what stands in remote memory and which results are sent: see options_of.
  pipelining_options pipeline = {};
  /// The accumulation of gradients in a model without stages. Where anything of it is given, nothing of `pipeline`
  /// holds for such a model.
  gradient_accumulation_options gradient_accumulation = {};
  /// Copies of the model that train on batches of their own; 0: as many as the machine has devices for.
  int num_replicas = 0;
  /// The reduction of the replicas' gradients, once per weight update.
  stagecraft::cross_replica_reduction cross_replica_reduction = stagecraft::cross_replica_reduction::sum;
  /// The replicas whose losses and metrics are reported.
  stagecraft::replicated_metric_reduction_method replicated_metric_reduction_method =
      stagecraft::replicated_metric_reduction_method::none;
  /// The number of batches that a thread of its own prepares ahead of the steps.
  infeed_queue_options infeed_queue = {};
  /// The number of results of steps that are kept for a reader, and which results these are.
  outfeed_queue_options outfeed_queue = {};
  /// Callbacks see every step as soon as its results are there, from a thread of their own, not every execution. It has
  /// no effect on training and evaluation where results are accumulated (accumulate_outfeed).
  bool asynchronous_callbacks = false;
  /// The types of values and weights. IPUs have no bfloat16 (E2061).
  stagecraft::dtype_policy dtype_policy = {};
  /// Initial weights, dropout and shuffling follow from it.
  std::uint64_t seed = 1;
  /// The warnings E4087 and E4088 are switched off: that a cross-entropy takes the output of a linear layer for
  /// probabilities, or one of softmax or sigmoid for logits, is meant.
  bool outputs_are_meant = false;
  /// Micro-batches come from the host, and results go there, in slots of their own, while others are worked on: only
  /// in the grouped schedule (E2059) and without stages. training_on sets it for IPUs whose I/O tiles do so
  /// (io_tiles.place_ops_on_io_tiles); results do not depend on it.
  bool overlaps_io = false;

  // At the line of the description, since compilers print the job on the way from a trainer to the loss.
  static_assert(losses::detail::compile_call<Loss>());
};

}  // namespace stagecraft

namespace stagecraft::jobs {

// `= {}` refuses a default constructor that is explicit, which std::is_default_constructible does not see.
template <class Loss, class Optimizer>
  requires requires(void (*takes)(Loss, Optimizer)) { takes({}, {}); }
struct fields_of<training<Loss, Optimizer>> {
  using type = training<Loss, Optimizer>;
  using list =
      field_list<&type::optimizer, &type::loss, &type::metrics, &type::loss_weights, &type::weighted_metrics,
                 &type::batch_size, &type::steps_per_execution, &type::pipeline, &type::gradient_accumulation,
                 &type::num_replicas, &type::cross_replica_reduction, &type::replicated_metric_reduction_method,
                 &type::infeed_queue, &type::outfeed_queue, &type::asynchronous_callbacks, &type::dtype_policy,
                 &type::seed, &type::outputs_are_meant, &type::overlaps_io>;
};

/// True for a class that has what the base of losses declares, and for a list of such classes.
template <class Loss>
inline constexpr bool is_loss = requires {
  Loss::name;
  Loss::sparse_targets;
};
template <class... Losses>
inline constexpr bool is_loss<losses::output_loss_list<Losses...>> = (is_loss<Losses> && ...);

/// E4081, E4082: a text or a number as loss or optimizer, a class that is no loss, or one that says no update.
template <class Loss, class Optimizer>
inline constexpr diagnostic training_parts_problem = [] {
  diagnostic problem;
  if (!std::is_class_v<Loss>)
    problem.report(4081, "the training's loss is ", std::is_pointer_v<Loss> ? "a text" : "a number",
                   "; losses are values of a class, such as sc::losses::mean_squared_error{}");
  else if (!is_loss<Loss>)
    problem.report(4081, "the training's loss is a value of type '", type_name<Loss>(),
                   "', which is no loss; one of your own is a struct with base sc::loss<its name>, and says in "
                   "`constexpr auto call(auto target, auto output) const` what it computes");
  if (!std::is_class_v<Optimizer>)
    problem.report(4082, "the training's optimizer is ", std::is_pointer_v<Optimizer> ? "a text" : "a number",
                   "; optimizers are values of a class, such as sc::optimizers::adam{}");
  else if (!stagecraft::Optimizer<Optimizer>)
    problem.report(4082, "the training's optimizer '", type_name<Optimizer>(),
                   "' does not say what it does; give it `float learning_rate` and `constexpr void update(auto& ops, "
                   "auto weight, auto gradient) const`");
  return problem;
}();

}  // namespace stagecraft::jobs

namespace stagecraft {

/// Stands in for a training description that has had its compile error, E4081 or E4082: it has the same fields.
template <class Loss, class Optimizer>
  requires(!detail::is_loss<Loss> || !stagecraft::Optimizer<Optimizer>)
struct training<Loss, Optimizer> {
  static_assert(detail::report<detail::training_parts_problem<Loss, Optimizer>>());
  static constexpr bool is_refused = true;

  detail::any_argument optimizer = {};
  detail::any_argument loss = {};
  stagecraft::metrics::metric_list metrics = {};
  jobs::output_weights loss_weights = {};
  stagecraft::metrics::metric_list weighted_metrics = {};
  int batch_size = 32;
  int steps_per_execution = 1;
  pipelining_options pipeline = {};
  gradient_accumulation_options gradient_accumulation = {};
  int num_replicas = 0;
  stagecraft::cross_replica_reduction cross_replica_reduction = stagecraft::cross_replica_reduction::sum;
  stagecraft::replicated_metric_reduction_method replicated_metric_reduction_method =
      stagecraft::replicated_metric_reduction_method::none;
  infeed_queue_options infeed_queue = {};
  outfeed_queue_options outfeed_queue = {};
  bool asynchronous_callbacks = false;
  stagecraft::dtype_policy dtype_policy = {};
  std::uint64_t seed = 1;
  bool outputs_are_meant = false;
  bool overlaps_io = false;
};

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
