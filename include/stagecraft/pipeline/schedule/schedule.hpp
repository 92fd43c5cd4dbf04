// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's PipelineSchedule and RecomputationMode, and the kinds of work in a slot of a schedule.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <string_view>

namespace stagecraft {

/// The order in which a pipeline's stages work on micro-batches; results do not depend on it. Of S stages, at once,
/// - `grouped`: all devices do forward steps and backward steps, of 2 S micro-batches (S without training);
/// - `interleaved`: half of the devices do forward steps, the others backward steps, of S micro-batches: less is kept
///   for backward passes, and more time is lost where the two take different times;
/// - `sequential`: one stage works on one micro-batch, the others wait.
enum class schedule : unsigned char { grouped, interleaved, sequential };

[[nodiscard]] constexpr std::string_view name(schedule order) noexcept {
  switch (order) {
    case schedule::interleaved: return "interleaved";
    case schedule::sequential: return "sequential";
    default: return "grouped";
  }
}

/// The schedule of that name, to be written without its type.
inline constexpr schedule grouped = schedule::grouped;
/// The schedule of that name, to be written without its type.
inline constexpr schedule interleaved = schedule::interleaved;

/// The tensors of its stage's forward pass that a backward pass finds. `none`: all that it reads was kept. With the
/// others, only the inputs of the stage were kept, and the layers' forward steps are carried out again, those with a
/// state of their own (batch normalization) excepted:
/// - `recompute_then_backpropagate`: all of them before the backward steps, one slot before the backward pass;
/// - `recompute_and_backpropagate_interleaved`: those after the stage's last `recomputation_checkpoint`, then their
///   backward steps, then those after the checkpoint before it...; the tensors at the checkpoints are kept, too;
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

namespace stagecraft {

/// - `infeed`: the device of the first stage takes a micro-batch from the host;
/// - `backward`, `forward`: a stage's pass over a micro-batch;
/// - `recompute`: a stage's forward steps are carried out again, for the backward pass of the next slot; or right
/// before
///   that pass, see `timetable`;
/// - `send`: what the pass has computed is copied to the device of the next pass;
/// - `outfeed`: the device of the last stage sends results to the host;
/// - `weight_update`: once per device, after all micro-batches.
enum class pass_kind : unsigned char { infeed, backward, forward, recompute, send, outfeed, weight_update };

/// "forward", "weight update"...
constexpr std::string_view to_string(pass_kind kind) {
  switch (kind) {
    case pass_kind::infeed: return "infeed";
    case pass_kind::backward: return "backward";
    case pass_kind::forward: return "forward";
    case pass_kind::recompute: return "recompute";
    case pass_kind::send: return "send";
    case pass_kind::outfeed: return "outfeed";
    case pass_kind::weight_update: return "weight update";
  }
  return "";
}

}  // namespace stagecraft
