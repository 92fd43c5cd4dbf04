// SPDX-License-Identifier: BSD-3-Clause
// Graphcore's PipelineSchedule. Level 3.
#pragma once

namespace stagecraft {

/// The order in which a pipeline's stages work on micro-batches.
enum class schedule : unsigned char { grouped, interleaved, sequential };

inline constexpr schedule grouped = schedule::grouped;
inline constexpr schedule interleaved = schedule::interleaved;

}  // namespace stagecraft
