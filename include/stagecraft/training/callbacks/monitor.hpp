// SPDX-License-Identifier: BSD-3-Clause
// Parts of callbacks: the watched value and its better direction (Keras's `monitor` and `mode`), and a count of
// batches that arrive an execution at a time (`_batches_seen_since_last_saving` of ModelCheckpoint).
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::callbacks {

/// The direction in which a monitored value improves.
enum class monitor_mode : unsigned char {
  automatic,  ///< by the name: larger values for accuracies, smaller ones for the rest
  min,
  max
};

namespace detail {

/// The monitored value, or null in an epoch without validation. An unknown name is an error (data_error E4012), since
/// the callback would never do anything; Keras warns and goes on without effect.
[[nodiscard]] inline double const* find_monitored(char const* owner, std::string const& monitor, logs const& values,
                                                  callback_params const& params) {
  if (double const* const value = values.find(monitor)) return value;
  if (monitor.starts_with("val_") && params.validation && values.contains(std::string_view(monitor).substr(4)))
    return nullptr;
  stagecraft::detail::throw_data_error("E4012", "%s: monitors '%s', which is not available; there are: %s", owner,
                                       monitor.c_str(), values.names().c_str());
}

}  // namespace detail

}  // namespace stagecraft::callbacks

namespace stagecraft::trainers {

/// Counts the batches of all epochs. With steps_per_execution the hook of a batch stands for all of an execution's;
/// with replicas, asynchronous callbacks name a batch once for each of them.
class seen_batches {
 public:
  /// Restarts the numbers of batches; to be called in `on_epoch_begin`.
  void begin_epoch() noexcept { last_ = -1; }
  /// Returns the number of batches since the last call; to be called in `on_train_batch_end`.
  int add(int batch) noexcept {
    int const added = batch - last_;
    last_ = batch;
    total_ += added;
    return added;
  }
  /// Number of batches of all epochs so far.
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }

 private:
  int last_ = -1;
  std::int64_t total_ = 0;
};

}  // namespace stagecraft::trainers
