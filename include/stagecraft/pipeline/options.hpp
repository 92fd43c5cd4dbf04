// SPDX-License-Identifier: BSD-3-Clause
// How a model's steps are gathered into weight updates and executions: Keras on IPU's set_pipelining_options and
// set_gradient_accumulation_options. Level 3.
#pragma once

namespace stagecraft {

/// The order in which a pipeline's stages work on micro-batches.
enum class schedule : unsigned char { grouped, interleaved, sequential };

inline constexpr schedule grouped = schedule::grouped;
inline constexpr schedule interleaved = schedule::interleaved;

/// How the gradients of the micro-batches of one weight update become one.
enum class gradient_accumulation_reduction_method : unsigned char { sum, mean, running_mean };

/// Keras's keyword arguments. With the default method, sum, the effective learning rate grows with the number of steps.
struct pipelining_options {
  /// Micro-batches per weight update; 0: not set, one. A pipelined model that is trained needs it set (E2022).
  int gradient_accumulation_steps_per_replica = 0;
  gradient_accumulation_reduction_method reduction_method = gradient_accumulation_reduction_method::sum;
  /// The device executes the stages in this order; results do not depend on it.
  stagecraft::schedule schedule = stagecraft::schedule::grouped;

  /// Micro-batches per weight update.
  [[nodiscard]] constexpr int accumulation_steps() const noexcept {
    return gradient_accumulation_steps_per_replica < 1 ? 1 : gradient_accumulation_steps_per_replica;
  }
};

}  // namespace stagecraft
