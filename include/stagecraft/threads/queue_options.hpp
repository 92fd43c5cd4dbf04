// SPDX-License-Identifier: BSD-3-Clause
// Options of the queues by which batches reach a model and results leave it: Keras on IPU's set_infeed_queue_options
// and set_outfeed_queue_options.
#pragma once

namespace stagecraft {

/// Options of the queue of batches: Graphcore's IPUInfeedQueue.
struct infeed_queue_options {
  /// Batches that a thread of its own prepares for each replica while the model works, 1 to 255 (E2042). 0: not set,
  /// which means Graphcore's 3 for a model with stages or replicas; for another model, batches are prepared between its
  /// steps.
  int prefetch_depth = 0;
  /// Graphcore's preference for few packets over few copies. There are no packets here, so that it changes nothing.
  bool optimise_latency = false;
};

/// The results that a dequeue gets: all since the last one, or the newest.
enum class outfeed_mode : unsigned char { all, last };

/// Options of the queue of results: Graphcore's IPUOutfeedQueue.
struct outfeed_queue_options {
  /// Results that may wait for asynchronous callbacks, at least 1 (E2043); a step with one more result waits.
  int buffer_depth = 3;
  /// `last`: an execution reports the values of its last step only, as Graphcore's LAST. It excludes accumulate_outfeed
  /// (E2040) and asynchronous callbacks (E2041). Keras on IPU always has `all`.
  stagecraft::outfeed_mode outfeed_mode = stagecraft::outfeed_mode::all;
  /// Graphcore's preference for few packets over few copies. There are no packets here, so that it changes nothing.
  bool optimise_latency = false;
};

}  // namespace stagecraft
