// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's RecomputationMode: what a backward pass finds of its stage's forward pass.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <string_view>

namespace stagecraft {

/// What a backward pass finds of its stage's forward pass. `none`: all that it reads was kept. With the others, only
/// the inputs of the stage were kept, and the layers' forward steps are carried out again, those with a state of their
/// own (batch normalization) excepted:
/// - `recompute_then_backpropagate`: all of them before the backward steps, one slot before the backward pass;
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

[[nodiscard]] constexpr std::string_view name(recomputation_mode mode) noexcept {
  switch (mode) {
    case recomputation_mode::automatic: return "automatic";
    case recomputation_mode::recompute_then_backpropagate: return "recompute_then_backpropagate";
    case recomputation_mode::recompute_and_backpropagate_interleaved: return "recompute_and_backpropagate_interleaved";
    default: return "none";
  }
}

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// The mode that `automatic` stands for in a schedule; any other mode is itself.
[[nodiscard]] constexpr recomputation_mode mode_in(schedule order, recomputation_mode mode) noexcept {
  if (mode != recomputation_mode::automatic) return mode;
  return order == schedule::sequential ? recomputation_mode::recompute_and_backpropagate_interleaved
                                       : recomputation_mode::recompute_then_backpropagate;
}

}  // namespace stagecraft::pipeline
