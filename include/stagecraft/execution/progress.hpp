// SPDX-License-Identifier: BSD-3-Clause
// How far one thread has come, for others that wait for it. Level 5.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>

namespace stagecraft {

namespace detail {

/// How often a thread looks before it sleeps: for some tens of microseconds; once where `threads` have to take turns.
[[nodiscard]] inline int patience_of(int threads) {
  auto const processors = std::thread::hardware_concurrency();
  return processors != 0 && static_cast<unsigned>(threads) > processors ? 0 : 4000;
}

/// Between two looks. Other programs may have left one core to both threads: after some microseconds the one that is
/// waited for gets it.
inline void pause_in_loop(int attempt) noexcept {
  if (attempt >= 256 && attempt % 32 == 0)
    std::this_thread::yield();
  else {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace detail

/// A count that one thread raises and others wait for: first in a loop, then asleep. What the thread has written before
/// it publishes is seen by those who have waited. In a cache line of its own; never allocates; the system is called
/// only to sleep, and to wake somebody who waits for no more than what is published.
class alignas(64) progress {
 public:
  progress() = default;
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  [[nodiscard]] std::int64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

  /// Raises the count. By one thread at a time.
  // The store and the load after it are in one order with a waiter's: it sees the value, or it is seen.
  void publish(std::int64_t value) noexcept {
    value_.store(value, std::memory_order_seq_cst);
    if (wanted_.load(std::memory_order_seq_cst) <= value) wake();
  }

  /// Starts again from `value`, while nobody waits or publishes.
  void reset(std::int64_t value = 0) noexcept {
    value_.store(value, std::memory_order_relaxed);
    wanted_.store(nobody, std::memory_order_relaxed);
  }

  /// Lets all who wait look again, also at whether they have to stop.
  void wake() noexcept {
    // In this order: what is wanted was asked for before the event, by somebody who had read the event before that.
    wanted_.exchange(nobody, std::memory_order_seq_cst);
    event_.fetch_add(1, std::memory_order_release);
    event_.notify_all();
  }

  /// Waits until the count is `at_least`; true if it is. False if `stopped()` before that: it reads an atomic with
  /// seq_cst, and who sets that calls `wake` afterwards.
  template <class Stopped>
  bool await(std::int64_t at_least, Stopped const& stopped, int patience) noexcept {
    return spin(at_least, stopped, patience) || sleep(at_least, stopped);
  }

  /// The first part of `await`: true if the count is reached while patience lasts.
  template <class Stopped>
  [[nodiscard]] bool spin(std::int64_t at_least, Stopped const& stopped, int patience) const noexcept {
    for (int attempt = 0; value() < at_least; ++attempt) {
      if (attempt >= patience || stopped()) return value() >= at_least;
      detail::pause_in_loop(attempt);
    }
    return true;
  }

  /// The second part.
  template <class Stopped>
  bool sleep(std::int64_t at_least, Stopped const& stopped) noexcept {
    for (;;) {
      auto const event = event_.load(std::memory_order_acquire);
      want(at_least);
      if (value_.load(std::memory_order_seq_cst) >= at_least) return true;
      if (stopped()) return value() >= at_least;
      event_.wait(event, std::memory_order_acquire);
    }
  }

 private:
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();

  void want(std::int64_t value) noexcept {
    auto wanted = wanted_.load(std::memory_order_seq_cst);
    while (wanted > value && !wanted_.compare_exchange_weak(wanted, value, std::memory_order_seq_cst)) {
    }
  }

  std::atomic<std::int64_t> value_ = 0;
  std::atomic<std::int64_t> wanted_ = nobody;  // the least that somebody asleep, or about to be, waits for
  std::atomic<std::uint32_t> event_ = 0;       // what they sleep on
};

}  // namespace stagecraft
