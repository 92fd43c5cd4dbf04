// SPDX-License-Identifier: BSD-3-Clause
// The first failure of work that several threads share.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/mutex.hpp>
#include <atomic>
#include <exception>
#include <utility>

namespace stagecraft::threads {

/// Keeps the first of several threads' failures; later ones are dropped. A failure without an exception only says that
/// the work has ended early.
class first_failure {
 public:
  /// Records a failure; true if it is the first. The caller wakes the threads that wait for the work afterwards.
  /// `failed` is true when this returns, also if another failure was first.
  bool fail(std::exception_ptr error = nullptr) noexcept {
    scoped_lock const lock(mutex_);
    if (failed()) return false;
    error_ = std::move(error);
    failed_.store(true, std::memory_order_seq_cst);
    return true;
  }

  /// True after a failure. A thread that is about to sleep announces it and then calls this; a thread that fails
  /// records it and then looks for sleepers. One of the two sees the other, because all four operations are in one
  /// order.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_seq_cst); }
  /// The first exception, or null. Call it only after `failed` was true.
  [[nodiscard]] std::exception_ptr const& error() const noexcept { return error_; }

  /// Forgets the failure, while no other thread uses this; returns the exception.
  std::exception_ptr clear() noexcept {
    failed_.store(false, std::memory_order_relaxed);
    return std::exchange(error_, nullptr);
  }

 private:
  mutex mutex_;  // held by a thread that fails
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;
};

}  // namespace stagecraft::threads
