// SPDX-License-Identifier: BSD-3-Clause
// The progress of one thread, for others that wait for it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/mutex.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#if defined(__linux__)
#include <sched.h>
#endif
#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace stagecraft::threads {

/// The number of processors that the threads of this process may run on; 0 or less if it is not known.
[[nodiscard]] inline int processors_of_process() noexcept {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
#if defined(_WIN32)
  return pthread_num_processors_np();
#else
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#endif
}

/// The number of looks before a thread sleeps: ten or twenty microseconds; one if `threads` have to take turns.
[[nodiscard]] inline int patience_of(int threads) {
  auto const processors = processors_of_process();
  return processors > 0 && threads > processors ? 0 : 1000;
}

/// Looks that take a microsecond or two, as long as falling asleep and being woken. A thread that nobody waits for
/// takes no more: it would keep a core from others.
inline constexpr int short_patience = 64;

/// A pause between two looks. It does not offer the core to other threads: Linux takes that for the wish to wait for
/// long (measured: three milliseconds beside a busy program). A thread that has waited for some time sleeps.
inline void pause_in_loop() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// A count that one thread raises and others wait for: first in a loop, then asleep. Threads that have waited see
/// everything that the thread wrote before it published. The count has cache lines of its own and never allocates. Its
/// lock is taken only to sleep, and to wake a thread whose count is reached.
class alignas(64) progress {
 public:
  progress() = default;
  progress(progress const&) = delete;
  progress& operator=(progress const&) = delete;

  [[nodiscard]] std::int64_t value() const noexcept { return value_.load(std::memory_order_acquire); }

  /// Raises the count. One thread at a time may call it.
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

  /// Lets all waiting threads look again, also whether they have to stop.
  void wake() noexcept {
    {
      scoped_lock const lock(mutex_);
      wanted_.store(nobody, std::memory_order_relaxed);
    }
    changed_.wake_all();
  }

  /// Waits until the count is `at_least`; true if it is. False if `stopped()` is true before that: it reads an atomic
  /// with seq_cst, and the thread that sets the atomic calls `wake` afterwards.
  template <class Stopped>
  bool await(std::int64_t at_least, Stopped const& stopped, int patience) noexcept {
    return spin(at_least, stopped, patience) || sleep(at_least, stopped);
  }

  /// The first part of `await`: true if the count is reached while patience lasts.
  template <class Stopped>
  [[nodiscard]] bool spin(std::int64_t at_least, Stopped const& stopped, int patience) const noexcept {
    for (int attempt = 0; value() < at_least; ++attempt) {
      if (attempt >= patience || stopped()) return value() >= at_least;
      pause_in_loop();
    }
    return true;
  }

  /// The second part of `await`: sleeps until the count is reached or `stopped()`.
  template <class Stopped>
  bool sleep(std::int64_t at_least, Stopped const& stopped) noexcept {
    scoped_lock lock(mutex_);
    for (;;) {
      wanted_.store(std::min(at_least, wanted_.load(std::memory_order_relaxed)), std::memory_order_seq_cst);
      if (value_.load(std::memory_order_seq_cst) >= at_least) return true;
      if (stopped()) return value() >= at_least;
      changed_.wait(lock);
    }
  }

 private:
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::max();

  std::atomic<std::int64_t> value_ = 0;
  std::atomic<std::int64_t> wanted_ =
      nobody;  // the least count that a sleeping thread waits for; written under the lock
  // Not std::atomic::wait: measured, waking a thread that sleeps there costs the waker more with GCC 12.
  mutex mutex_;
  condition changed_;
};

}  // namespace stagecraft::threads
