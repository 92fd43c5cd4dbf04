// SPDX-License-Identifier: BSD-3-Clause
// How calls of a running program become batches.
#pragma once

namespace stagecraft::serving {

/// Options of an engine and of an embedded runtime.
struct runtime_options {
  /// How long, in microseconds, a pipeline with samples in it waits for the next batch. Then a dummy batch follows, so
  /// that the samples come out; nobody sees what becomes of it. Without stages there is nothing to wait for.
  int runtime_api_timeout_us = 5000;
  /// How long, in microseconds, the first sample of a batch waits for others to fill it: the price in latency of a
  /// better throughput. TensorFlow Serving's batch_timeout_micros.
  int batch_timeout_us = 0;
  /// Calls that may wait for a place in a batch; a call more is refused (E5082). TensorFlow Serving's
  /// max_enqueued_batches, in calls.
  int max_enqueued_calls = 1024;
};

}  // namespace stagecraft::serving
