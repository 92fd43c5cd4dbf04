// SPDX-License-Identifier: BSD-3-Clause
// Lets threads that work together run on processors of their own, and an array with a place for each of them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/mutex.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stagecraft::threads {

/// An array of elements that are neither copied nor moved, such as atomics. Its length is set at construction.
/// Compilers instantiate less for it than for std::vector.
template <class T>
class places {
 public:
  explicit places(std::size_t count) : data_(new T[count]()), size_(count) {}
  places(places const&) = delete;
  places& operator=(places const&) = delete;
  ~places() { delete[] data_; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T const* begin() const noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] T const* end() const noexcept { return data_ + size_; }
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] T const& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  T* data_;
  std::size_t size_;
};

}  // namespace stagecraft::threads

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#endif

namespace stagecraft::threads {

/// The processors on which the threads of a team run. A system may leave two threads on one processor for a long time
/// while another is idle (seen on a virtual machine). If other programs run as well, it may keep a thread in a queue
/// for some milliseconds while the processor of a thread that waits for it is idle. So a thread that finds itself on
/// the processor of one with a smaller number asks to be moved, and a thread that waits fetches the other to its
/// processor. The processors that threads may use stay the same. Does nothing on other systems than Linux, and where
/// there are fewer processors than threads.
class own_processor {
 public:
  explicit own_processor(int threads) : seats_(static_cast<std::size_t>(threads)) {}

  /// Each thread calls this at the beginning of its work, and when it has slept. It takes some tens of nanoseconds,
  /// unless the thread has to move.
  void find([[maybe_unused]] int thread) noexcept {
#if defined(__linux__)
    auto& own = seat_of(thread);
    own.system_id.store(own_identity().system_id, std::memory_order_relaxed);
    own.clock.store(own_identity().clock, std::memory_order_relaxed);
    int const here = sched_getcpu();
    bool taken = false;
    for (int i = 0; i < thread; ++i) taken = taken || seat_of(i).processor.load(std::memory_order_relaxed) == here;
    if (taken) move_away(thread);
    own.processor.store(taken ? sched_getcpu() : here, std::memory_order_relaxed);
#endif
  }

  /// Each thread says by this whether it has work that others may wait for.
  void set_working([[maybe_unused]] int thread, [[maybe_unused]] bool works) noexcept {
#if defined(__linux__)
    seat_of(thread).works.store(works, std::memory_order_relaxed);
#endif
  }

  /// A thread that is about to sleep calls this, which moves threads to its processor that have work and do not run.
  /// `is_over()` returns true if there is nothing to wait for any more; it may take a microsecond or two.
  template <class IsOver>
  void fetch_others([[maybe_unused]] int thread, [[maybe_unused]] IsOver const& is_over) const noexcept {
#if defined(__linux__)
    for (int other = 0; other < static_cast<int>(seats_.size()); ++other) {
      if (other == thread || !seat_of(other).works.load(std::memory_order_relaxed)) continue;
      auto const before = running_time(other);
      if (is_over()) return;
      if (running_time(other) == before) fetch(other);
    }
#endif
  }

  /// The number with which the calling thread has found its processor; -1 if it has not.
  [[nodiscard]] int own_number() const noexcept {
#if defined(__linux__)
    for (int thread = 0; thread < static_cast<int>(seats_.size()); ++thread)
      if (seat_of(thread).system_id.load(std::memory_order_relaxed) == own_identity().system_id) return thread;
#endif
    return -1;
  }

 private:
#if defined(__linux__)
  // Its members are written by the thread itself.
  struct alignas(64) seat {
    std::atomic<int> processor = -1;
    std::atomic<pid_t> system_id = 0;
    std::atomic<clockid_t> clock = CLOCK_THREAD_CPUTIME_ID;
    std::atomic<bool> works = false;
  };
  struct identity {
    pid_t system_id = gettid();
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
  };

  static identity const& own_identity() noexcept {
    thread_local identity const own = [] {
      identity found;
      pthread_getcpuclockid(pthread_self(), &found.clock);
      return found;
    }();
    return own;
  }

  /// The time that a thread has run until now. Two equal results say that it did not run in between.
  [[nodiscard]] std::int64_t running_time(int thread) const noexcept {
    timespec time{};
    if (clock_gettime(seat_of(thread).clock.load(std::memory_order_relaxed), &time) != 0) return 0;
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  }

  void fetch(int thread) const noexcept {
    cpu_set_t here, allowed;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    auto const id = seat_of(thread).system_id.load(std::memory_order_relaxed);
    scoped_lock const lock(moving(), scoped_lock::if_free{});
    if (lock.owns_lock() && find_allowed(id, allowed)) move(id, here, allowed);
  }

  [[nodiscard]] seat& seat_of(int thread) noexcept { return seats_[thread]; }
  [[nodiscard]] seat const& seat_of(int thread) const noexcept { return seats_[thread]; }

  // Held while a thread's allowed processors are changed to move it, so that nobody takes them for its real ones.
  static mutex& moving() noexcept {
    static mutex only;
    return only;
  }

  /// False if there are fewer processors than threads.
  [[nodiscard]] bool find_allowed(pid_t id, cpu_set_t& allowed) const noexcept {
    return sched_getaffinity(id, sizeof allowed, &allowed) == 0 &&
           static_cast<std::size_t>(CPU_COUNT(&allowed)) >= seats_.size();
  }

  static void move(pid_t id, cpu_set_t const& to, cpu_set_t const& allowed) noexcept {
    if (sched_setaffinity(id, sizeof to, &to) == 0) sched_setaffinity(id, sizeof allowed, &allowed);
  }

  void move_away(int thread) const noexcept {
    scoped_lock const lock(moving());
    cpu_set_t allowed;
    if (!find_allowed(0, allowed)) return;
    cpu_set_t free = allowed;
    for (int i = 0; i < thread; ++i)
      if (int const other = seat_of(i).processor.load(std::memory_order_relaxed); other >= 0) CPU_CLR(other, &free);
    if (CPU_COUNT(&free) != 0) move(0, free, allowed);
  }
#else
  struct seat {};
#endif

  places<seat> seats_;
};

}  // namespace stagecraft::threads
