// SPDX-License-Identifier: BSD-3-Clause
// Whether work that several threads do has failed, and by what.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/mutex.hpp>
#include <atomic>
#include <exception>
#include <utility>

namespace stagecraft::threads {

/// Keeps the first of several threads' failures; later ones are dropped. Without an exception it only says that the
/// work has come to nothing.
class first_failure {
 public:
  /// True if this is the first one. Who waits for the work has to be woken afterwards. `failed` holds when it returns,
  /// whoever was first.
  bool fail(std::exception_ptr error = nullptr) noexcept {
    scoped_lock const lock(mutex_);
    if (failed()) return false;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_seq_cst);
    return true;
  }

  /// A thread that is about to sleep asks after it has said so, and who fails looks for sleepers afterwards: one of the
  /// two sees the other, because all four are in one order.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }
  /// The first exception, or null. For those who have seen `failed`.
  [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }

  /// Makes it new, while no other thread uses it; gives what was kept.
  std::exception_ptr clear() noexcept {
    failed_.store(false, std::memory_order_relaxed);
    return std::exchange(error_, nullptr);
  }

 private:
  mutex mutex_;  // of those who fail
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;
};

}  // namespace stagecraft::threads
