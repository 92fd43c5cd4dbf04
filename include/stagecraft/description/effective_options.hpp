// SPDX-License-Identifier: BSD-3-Clause
// Which of a training description's options hold for a model: those of a pipeline or those without stages.
#pragma once

#include <stagecraft/description/gradient_accumulation_options.hpp>
#include <stagecraft/description/inference.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>

namespace stagecraft::jobs {

/// What is left of a pipeline's options without stages: one stage on one device, in which nothing waits for its
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
