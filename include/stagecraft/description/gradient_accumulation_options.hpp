// SPDX-License-Identifier: BSD-3-Clause
// Gradient accumulation of a model without pipeline stages: Keras on IPU's set_gradient_accumulation_options.
#pragma once

#include <stagecraft/pipeline/options.hpp>

namespace stagecraft {

/// Keras's keyword arguments and those of its gradient accumulation optimizer; see pipelining_options. They are ignored
/// for a model with stages, as in Keras on IPU, where a training description may have both kinds of options; but it is
/// an error if nothing else says how such a model's gradients are accumulated (E2026).
struct gradient_accumulation_options {
  /// Micro-batches per weight update; 0: not set, one.
  int gradient_accumulation_steps_per_replica = 0;
  /// Whether the gradients of the micro-batches are added or averaged.
  gradient_accumulation_reduction_method reduction_method = gradient_accumulation_reduction_method::sum;
  /// The type in which gradients are accumulated: float32 or float16 (E2036).
  dtype gradient_accumulation_dtype = dtype::float32;
  /// Where the optimizer's state lies between weight updates.
  offload offload_weight_update_variables = offload::automatic;
  /// Whether each replica keeps only its share of the optimizer's state.
  bool replicated_optimizer_state_sharding = false;

  friend constexpr bool operator==(gradient_accumulation_options const&,
                                   gradient_accumulation_options const&) = default;

  /// Whether anything is set: then these options hold for a model without stages, and nothing of `pipeline` does.
  [[nodiscard]] constexpr bool given() const noexcept { return *this != gradient_accumulation_options{}; }
  /// The same as options of a pipeline with one stage.
  [[nodiscard]] constexpr pipelining_options as_pipelining_options() const noexcept {
    return {.gradient_accumulation_steps_per_replica = gradient_accumulation_steps_per_replica,
            .reduction_method = reduction_method,
            .schedule = schedule::sequential,
            .gradient_accumulation_dtype = gradient_accumulation_dtype,
            .offload_weight_update_variables = offload_weight_update_variables,
            .replicated_optimizer_state_sharding = replicated_optimizer_state_sharding};
  }
};

}  // namespace stagecraft
