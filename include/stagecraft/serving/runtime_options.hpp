// SPDX-License-Identifier: BSD-3-Clause
// Options of an embedded runtime, and its counts.
#pragma once

#include <cstdint>

namespace stagecraft::serving {

/// Options of an embedded runtime: how its calls become batches.
struct runtime_options {
  /// The time in microseconds that a pipeline with samples in it waits for the next batch. Then a dummy batch follows,
  /// so that the samples come out; its outputs are dropped. A model without stages needs no dummy batches.
  int runtime_api_timeout_us = 5000;
  /// The time in microseconds that the first sample of a batch waits for others to fill it: the price in latency of a
  /// better throughput. TensorFlow Serving's batch_timeout_micros.
  int batch_timeout_us = 0;
  /// Calls that may wait for a place in a batch; one more is refused (E5082). TensorFlow Serving's
  /// max_enqueued_batches, in calls.
  int max_enqueued_calls = 1024;
};

/// Counts since an embedded runtime was made, and the lengths of its queues now.
struct runtime_statistics {
  std::int64_t calls = 0;          ///< calls accepted
  std::int64_t samples = 0;        ///< samples of answered calls
  std::int64_t refused_calls = 0;  ///< calls refused, since the queue was full or the runtime stopped
  std::int64_t failed_calls = 0;   ///< calls accepted and answered by an error
  std::int64_t left_calls = 0;     ///< calls abandoned, or too late, before all their samples were in batches
  std::int64_t batches = 0;        ///< batches with samples
  std::int64_t dummy_batches = 0;  ///< batches without samples
  std::int64_t executions = 0;     ///< executions begun
  std::int64_t failures = 0;       ///< executions that ended with an error
  std::int64_t waiting = 0;        ///< calls in the queue now
  std::int64_t in_flight = 0;      ///< batches with samples that the servable holds now
  std::int64_t begun_calls = 0;    ///< calls whose first sample has come into a batch
  std::int64_t queue_us = 0;       ///< microseconds that these calls have waited for it, together
};

}  // namespace stagecraft::serving
