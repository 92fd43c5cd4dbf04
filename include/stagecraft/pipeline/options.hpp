// SPDX-License-Identifier: BSD-3-Clause
// How a model's steps are gathered into weight updates and executions, and what is kept where meanwhile: Keras on IPU's
// set_pipelining_options, set_gradient_accumulation_options and the arguments of `pipelining_ops.pipeline`. Level 3.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/pipeline/outfeed_mask.hpp>
#include <stagecraft/pipeline/schedule.hpp>

namespace stagecraft {

/// How the gradients of the micro-batches of one weight update become one.
enum class gradient_accumulation_reduction_method : unsigned char { sum, mean, running_mean };

/// Where tensors stand that are not needed all the time: in the device's own memory, or in remote memory beside it, from
/// where they are fetched when they are needed. `automatic` (Graphcore's None) is on the device, unless another option
/// asks for remote memory.
enum class offload : unsigned char { automatic, on_device, remote };

/// What a backward pass finds of its stage's forward pass. `none`: all that it reads was kept. With the others, only the
/// inputs of the stage were kept, and the layers' forward steps are carried out again, those with a state of their own
/// (batch normalization) excepted:
/// - `recompute_then_backpropagate`: all of them before the backward steps;
/// - `recompute_and_backpropagate_interleaved`: those behind the stage's last `recomputation_checkpoint`, then their
///   backward steps, then those behind the checkpoint before it...; the tensors at the checkpoints are kept, too;
/// - `automatic`: the second for the sequential schedule, else the first.
/// The last stage's backward pass follows its forward pass at once, and nothing before it is recomputed, except what
/// lies before its last checkpoint.
/// Graphcore switches recomputation on with IPUConfig.allow_recompute; here a mode other than `none` does.
enum class recomputation_mode : unsigned char {
  none,
  automatic,
  recompute_then_backpropagate,
  recompute_and_backpropagate_interleaved
};

/// Keras's keyword arguments, and those that are passed on to `pipelining_ops.pipeline`. With the default reduction
/// method, sum, the effective learning rate grows with the number of steps.
struct pipelining_options {
  /// Micro-batches per weight update; 0: not set, one. A pipelined model that is trained needs it set (E2022).
  int gradient_accumulation_steps_per_replica = 0;
  gradient_accumulation_reduction_method reduction_method = gradient_accumulation_reduction_method::sum;
  /// The devices work on the micro-batches in this order; results do not depend on it.
  stagecraft::schedule schedule = stagecraft::schedule::grouped;
  stagecraft::recomputation_mode recomputation_mode = stagecraft::recomputation_mode::none;
  /// The type in which gradients are accumulated: float32 or float16.
  dtype gradient_accumulation_dtype = dtype::float32;
  /// Each stage works on so many micro-batches before the next stage begins: only in the sequential schedule, with all
  /// stages on one device and the reduction method sum. A weight update then takes that many times more micro-batches.
  int batch_serialization_iterations = 1;

  /// One result per weight update, the mean of its steps' results, is sent to the host, instead of one per step.
  bool accumulate_outfeed = false;
  /// The type in which these results are summed: float32 or float16.
  dtype accumulate_outfeed_dtype = dtype::float32;
  /// Only the loss is sent to the host while training: no metrics are computed.
  bool outfeed_loss = false;
  /// Which metrics are left out while training; not with outfeed_loss.
  stagecraft::outfeed_mask outfeed_mask = {};

  /// What a stage keeps from its forward to its backward pass.
  offload offload_activations = offload::automatic;
  offload offload_gradient_accumulation_buffers = offload::automatic;
  /// What only the weight update needs: the optimizer's state.
  offload offload_weight_update_variables = offload::automatic;
  /// Automatic: as replicated_weight_sharding says.
  offload offload_weights = offload::automatic;
  /// Each replica holds and updates a part of the optimizer's state; not with offload_weight_update_variables on_device.
  bool replicated_optimizer_state_sharding = false;
  /// Each replica holds a part of the weights, which are gathered before a stage uses them.
  bool replicated_weight_sharding = false;

  /// Micro-batches per weight update and replica.
  [[nodiscard]] constexpr int accumulation_steps() const noexcept {
    return (gradient_accumulation_steps_per_replica < 1 ? 1 : gradient_accumulation_steps_per_replica) *
           (batch_serialization_iterations < 1 ? 1 : batch_serialization_iterations);
  }
  [[nodiscard]] constexpr bool offloads_weights() const noexcept {
    return offload_weights == offload::remote || (offload_weights == offload::automatic && replicated_weight_sharding);
  }
  [[nodiscard]] constexpr bool offloads_optimizer_state() const noexcept {
    return offload_weight_update_variables == offload::remote ||
           (offload_weight_update_variables == offload::automatic && replicated_optimizer_state_sharding);
  }
};

}  // namespace stagecraft
