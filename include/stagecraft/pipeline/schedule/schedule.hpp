// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's PipelineSchedule.
#pragma once

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

inline constexpr schedule grouped = schedule::grouped;
inline constexpr schedule interleaved = schedule::interleaved;

}  // namespace stagecraft
