// SPDX-License-Identifier: BSD-3-Clause
// The compile-time description of a model that predicts and is not trained: what a predictor takes in place of
// `sc::training`. Also the modes, training and inference (tf.estimator's modes).
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/description/dtype_policy.hpp>
#include <stagecraft/description/replication.hpp>
#include <stagecraft/description/settings.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/threads/queue_options.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft {

/// The mode of a job: a program trains, or only predicts.
enum class execution_mode : unsigned char { training, inference };

/// The accuracy with which a predictor computes tanh, sigmoid and exp, and the activations made of them.
enum class activation_functions : unsigned char {
  accurate,  ///< within some 2.6 units in the last place (ulp), the functions of trainers
  fast       ///< tanh within 42 ulp, exp within 110 ulp, sigmoid within 1.3e-6, in less time
};
/// `activation_functions::accurate`.
inline constexpr auto accurate = activation_functions::accurate;
/// `activation_functions::fast`.
inline constexpr auto fast = activation_functions::fast;

/// The members of pipelining_options that predictions need: there are no gradients to accumulate, and nothing is kept
/// for a backward pass.
struct inference_pipelining_options {
  /// The devices work on the micro-batches in this order; results do not depend on it. `steps_per_execution` is a
  /// multiple of the micro-batches that it works on at once (E2025).
  stagecraft::schedule schedule = stagecraft::schedule::grouped;
  /// The place of weights until a stage uses them, remote memory or the device. Automatic: as
  /// replicated_weight_sharding says.
  offload offload_weights = offload::automatic;
  /// Each replica holds a part of the weights in remote memory: not with offload_weights on_device (E2039).
  bool replicated_weight_sharding = false;
  /// Options of the forward steps of single stages on IPUs in place of the machine's: an entry for each, or none
  /// (E2065).
  pipeline::stage_options_list forward_propagation_stages_poplar_options = {};

  /// Returns these options in the form that a training has; the others have their defaults.
  [[nodiscard]] constexpr pipelining_options as_pipelining_options() const noexcept {
    return {.schedule = schedule,
            .offload_weights = offload_weights,
            .replicated_weight_sharding = replicated_weight_sharding,
            .forward_propagation_stages_poplar_options = forward_propagation_stages_poplar_options};
  }
};

/// The options of a predictor, whose plan has neither losses nor gradients nor an optimizer.
///
///     inline constexpr auto single = sc::inference{.batch_size = 1};
///     sc::predictor<mlp, single> model;
///     static_assert(sc::profile<mlp, single, sc::ipu<>>.latency() < 1e-4);
///
/// Wherever a training description is asked for a model's plan, memory, timetable or profile, this can stand, too. Each
/// field can be left out, but C++ demands their order; they are those of `training` that predictions need.
///
/// Checked with the model, where a predictor is named: E4020 batch_size, E4021 steps_per_execution, E4029 inputs of
/// another batch size; E2025, E2039, E2047, E2059, E2065 pipelines; E2042, E2043 queues; E2044 to E2046, E2049
/// replicas and devices.
struct inference {
  /// Samples per step. Fewer can be given, in a batch that is filled up.
  int batch_size = 32;
  /// Steps that run between two looks of the callbacks; in a pipeline, those that follow each other without a gap.
  int steps_per_execution = 1;
  /// The options of a model with stages. A model without stages takes from it what stands in remote memory.
  inference_pipelining_options pipeline = {};
  /// Copies of the model that predict for batches of their own; 0: as many as the machine has devices for.
  int num_replicas = 0;
  /// The number of batches that a thread of its own prepares ahead of the steps.
  infeed_queue_options infeed_queue = {};
  /// The number of results of steps that are kept for asynchronous callbacks.
  outfeed_queue_options outfeed_queue = {};
  /// Callbacks see every step as soon as its results are there, from a thread of their own, not every execution.
  bool asynchronous_callbacks = false;
  /// The types of values and weights. IPUs have no bfloat16 (E2061).
  stagecraft::dtype_policy dtype_policy = {};
  /// Initial weights follow from it.
  std::uint64_t seed = 1;
  /// On the host, a batch normalization after a convolution or a dense layer becomes a part of that layer's weights
  /// when they are set, if nothing else reads that layer's output, and it has no activation. Results differ from those
  /// of the trainer by rounding: by no more than about 1e-5 of the largest output of the layer.
  bool fold_batch_normalization = true;
  /// Micro-batches come from the host, and results go there, in slots of their own, while others are worked on: as in
  /// `training`.
  bool overlaps_io = false;
  /// The accuracy with which the host computes tanh, sigmoid, swish and exp in dense layers, convolutions and
  /// activation layers, and in layers whose operations are inlined (docs/realtime.md). NaN stays NaN with `fast`, too,
  /// and infinities have the exact limits. Other layers, and IPUs, compute accurately.
  activation_functions activations = accurate;
};

}  // namespace stagecraft

namespace stagecraft::jobs {

template <>
struct fields_of<inference> {
  using list = field_list<&inference::batch_size, &inference::steps_per_execution, &inference::pipeline,
                          &inference::num_replicas, &inference::infeed_queue, &inference::outfeed_queue,
                          &inference::asynchronous_callbacks, &inference::dtype_policy, &inference::seed,
                          &inference::fold_batch_normalization, &inference::overlaps_io, &inference::activations>;
};

/// True if a description is an inference.
template <auto Description>
inline constexpr bool only_infers = std::is_same_v<std::remove_cvref_t<decltype(Description)>, inference>;

/// True if a description asks for fast forms of activations.
template <auto Description>
inline constexpr bool asks_for_fast_activations = [] {
  if constexpr (only_infers<Description>)
    return Description.activations == fast;
  else
    return false;
}();

/// The mode of a description's timetables and profiles, unless another one is named.
template <auto Description>
inline constexpr execution_mode mode_of =
    only_infers<Description> ? execution_mode::inference : execution_mode::training;

}  // namespace stagecraft::jobs

#include <stagecraft/diagnostics/end_headers.hpp>
