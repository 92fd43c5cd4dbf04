// SPDX-License-Identifier: BSD-3-Clause
// How many batches a callback has seen, of which it is told an execution at a time.
// Keras counterpart: `_batches_seen_since_last_saving` of ModelCheckpoint.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <cstdint>

namespace stagecraft::trainers {

/// Counts the batches of all epochs. With steps_per_execution the hook of a batch stands for all of an execution's;
/// with replicas, asynchronous callbacks name a batch once for each of them.
class seen_batches {
 public:
  /// Called in `on_epoch_begin`: the numbers of batches begin anew.
  void begin_epoch() noexcept { last_ = -1; }
  /// Called in `on_train_batch_end`: how many batches have come since the last call.
  int add(int batch) noexcept {
    int const added = batch - last_;
    last_ = batch;
    total_ += added;
    return added;
  }
  /// Batches of all epochs so far.
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }

 private:
  int last_ = -1;
  std::int64_t total_ = 0;
};

}  // namespace stagecraft::trainers
