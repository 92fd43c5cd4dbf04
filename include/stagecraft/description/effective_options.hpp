// SPDX-License-Identifier: BSD-3-Clause
// The options of a training description that hold for a model: those of a pipeline, or those of gradient accumulation
// without stages (Keras on IPU's set_gradient_accumulation_options).
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>

namespace stagecraft {

/// Keras's keyword arguments and those of its gradient accumulation optimizer; see pipelining_options. They are ignored
/// for a model with stages, as in Keras on IPU, where a training description may have both kinds of options; but it is
/// an error if nothing else says how such a model's gradients are accumulated (E2026).
struct gradient_accumulation_options {
  /// Micro-batches per weight update; 0: not set, one.
  int gradient_accumulation_steps_per_replica = 0;
  /// The reduction of the micro-batches' gradients: a sum or a mean.
  gradient_accumulation_reduction_method reduction_method = gradient_accumulation_reduction_method::sum;
  /// The type in which gradients are accumulated: float32 or float16 (E2036).
  dtype gradient_accumulation_dtype = dtype::float32;
  /// The memory in which the optimizer's state lies between weight updates.
  offload offload_weight_update_variables = offload::automatic;
  /// True if each replica keeps only its share of the optimizer's state.
  bool replicated_optimizer_state_sharding = false;

  friend constexpr bool operator==(gradient_accumulation_options const&,
                                   gradient_accumulation_options const&) = default;

  /// True if anything is set: then these options hold for a model without stages, and nothing of `pipeline` does.
  [[nodiscard]] constexpr bool given() const noexcept { return *this != gradient_accumulation_options{}; }
  /// Returns these options as those of a pipeline with one stage.
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

namespace stagecraft::jobs {

/// The options of a pipeline that hold without stages: one stage on one device, in which nothing waits for its
/// backward pass. The micro-batches per weight update stay the same, and so do the results that the host sees.
constexpr pipelining_options without_pipeline(pipelining_options options) noexcept {
  options.schedule = schedule::sequential;
  options.recomputation_mode = recomputation_mode::none;
  options.offload_activations = offload::automatic;
  return options;
}

template <class M, auto Description>
constexpr pipelining_options find_options() {
  if constexpr (only_infers<Description>) {
    constexpr auto options = Description.pipeline.as_pipelining_options();
    return is_pipelined<M> ? options : without_pipeline(options);
  } else {
    return is_pipelined<M>                             ? Description.pipeline
           : Description.gradient_accumulation.given() ? Description.gradient_accumulation.as_pipelining_options()
                                                       : without_pipeline(Description.pipeline);
  }
}

/// The options that hold when M is trained, evaluated or run with a training description: `pipeline` for a model with
/// stages. For one without, `gradient_accumulation` if anything of it is given, else what `pipeline` says of more than
/// stages; as in Keras on IPU, where either setter's options are ignored in the other case. Everything that carries out
/// or describes a training or an inference asks this.
template <Model M, auto Training>
inline constexpr pipelining_options options_of = find_options<M, Training>();

}  // namespace stagecraft::jobs
