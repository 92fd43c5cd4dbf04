// SPDX-License-Identifier: BSD-3-Clause
// One call of a running program, from its inputs to its answer.
#pragma once

#include <stagecraft/serving/detail/call_failure.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

using serving_clock = std::chrono::steady_clock;

/// Shared by the caller, who may leave, and by the engine.
struct call_record {
  std::vector<std::vector<float>> inputs;   // not changed any more
  std::vector<std::vector<float>> outputs;  // each sample's is written once, before `finish`
  std::int64_t samples = 0;
  serving_clock::time_point arrival, deadline = serving_clock::time_point::max();

  // The engine's, under its lock.
  std::int64_t given = 0, done = 0;

  /// Nobody waits for the answer any more.
  std::atomic<bool> abandoned = false;

  /// The answer is there, or why there is none. Only the first one counts: false for others.
  bool finish(call_failure why = {}) noexcept {
    {
      std::scoped_lock const lock(mutex_);
      if (finished_) return false;
      finished_ = true;
      failure_ = std::move(why);
    }
    answered_.notify_all();
    return true;
  }
  /// Waits; false if it is not there by then.
  bool wait_until(serving_clock::time_point when) {
    std::unique_lock lock(mutex_);
    auto const is_there = [this] { return finished_; };
    if (when == serving_clock::time_point::max()) {
      answered_.wait(lock, is_there);
      return true;
    }
    return answered_.wait_until(lock, when, is_there);
  }
  [[nodiscard]] call_failure failure() {
    std::scoped_lock const lock(mutex_);
    return failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable answered_;
  bool finished_ = false;
  call_failure failure_;
};

}  // namespace stagecraft::serving::detail
