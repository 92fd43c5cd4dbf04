// SPDX-License-Identifier: BSD-3-Clause
// What an engine has done since it was made.
#pragma once

#include <cstdint>

namespace stagecraft::serving {

/// Counts, which only grow, and the two lengths at this moment.
struct engine_statistics {
  std::int64_t calls = 0;          ///< accepted
  std::int64_t samples = 0;        ///< of answered calls
  std::int64_t refused_calls = 0;  ///< since the queue was full, or the engine stopped
  std::int64_t failed_calls = 0;   ///< accepted, and answered by an error
  std::int64_t left_calls = 0;     ///< whose callers left, or whose time was over, before they were in a batch
  std::int64_t batches = 0;        ///< with samples
  std::int64_t dummy_batches = 0;  ///< without
  std::int64_t executions = 0;     ///< begun
  std::int64_t failures = 0;       ///< executions that ended with an error
  std::int64_t waiting = 0;        ///< calls in the queue now
  std::int64_t in_flight = 0;      ///< batches with samples in the program now
};

}  // namespace stagecraft::serving
