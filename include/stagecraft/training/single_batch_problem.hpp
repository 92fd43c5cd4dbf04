// SPDX-License-Identifier: BSD-3-Clause
// When a model cannot be trained on a single batch.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/pipeline/pipelined.hpp>

namespace stagecraft::trainers {

/// E2060: a single batch of a model whose weights are updated from several, in whole executions.
template <class M, auto Training, class Machine>
inline constexpr diagnostic single_batch_problem = [] {
  diagnostic problem;
  constexpr int replicas = replicas_of<M, Training, Machine>;
  constexpr int micro_batches = options_of<M, Training>.accumulation_steps();
  if (is_pipelined<M>)
    problem.report(2060, "train_on_batch is called on a model with pipeline stages; its weights are updated from ",
                   micro_batches, " micro-batches, which fit gives it");
  if (replicas > 1)
    problem.report(2060, "train_on_batch is called on a model with ", replicas,
                   " replicas, each of which takes a batch of its own; fit gives it to them");
  return problem;
}();

}  // namespace stagecraft::trainers
