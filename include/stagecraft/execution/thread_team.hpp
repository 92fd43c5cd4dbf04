// SPDX-License-Identifier: BSD-3-Clause
// Threads that carry out one step after another together. Level 5.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace stagecraft {

/// `size` threads, the calling one included, that run the same work, each with its own number. The others are started
/// once; between two pieces of work they wait, first in a loop, then asleep. Nothing is allocated after the start.
///
/// Only the calling thread may throw while work runs: the others then leave their work at the next `synchronize`, and
/// the exception goes on.
/// Errors: std::system_error if the system gives no more threads.
class thread_team {
 public:
  explicit thread_team(int size) : size_(size), patience_(patience(size)) {
    others_.reserve(static_cast<std::size_t>(size - 1));
    try {
      for (int thread = 1; thread < size; ++thread) others_.emplace_back([this, thread] { serve(thread); });
    } catch (...) {
      stop();
      throw;
    }
  }
  thread_team(thread_team const&) = delete;
  thread_team& operator=(thread_team const&) = delete;
  ~thread_team() { stop(); }

  [[nodiscard]] int size() const noexcept { return size_; }

  /// Calls work(0) here and work(1), work(2), ... on the other threads, and waits for all.
  template <class Work>
  void run(Work& work) {
    work_ = &work;
    call_ = [](void* what, int thread) { (*static_cast<Work*>(what))(thread); };
    left_.store(size_ - 1, std::memory_order_relaxed);
    signal(begun_);
    try {
      work(0);
    } catch (...) {
      failed_.store(true, std::memory_order_relaxed);
      signal(passed_);
      finish();
      arrived_.store(0, std::memory_order_relaxed);
      failed_.store(false, std::memory_order_relaxed);
      throw;
    }
    finish();
  }

  /// Waits until all threads have come here. False if the work has failed: then a thread has nothing more to do.
  bool synchronize() {
    auto const phase = passed_.load(std::memory_order_acquire);
    if (failed_.load(std::memory_order_relaxed)) return false;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      signal(passed_);
    } else {
      await(passed_, phase);
    }
    return !failed_.load(std::memory_order_relaxed);
  }

 private:
  using counter = std::atomic<std::uint32_t>;

  static void signal(counter& number) {
    number.fetch_add(1, std::memory_order_release);
    number.notify_all();
  }

  void await(counter const& number, std::uint32_t old) const {
    for (int attempt = 0; attempt < patience_; ++attempt) {
      if (number.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    while (number.load(std::memory_order_acquire) == old) number.wait(old, std::memory_order_acquire);
  }

  void serve(int thread) {
    for (std::uint32_t seen = 0;; ++seen) {
      await(begun_, seen);
      if (call_ == nullptr) return;
      call_(work_, thread);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) signal(ended_);
    }
  }

  void finish() {
    if (size_ == 1) return;
    await(ended_, ended_before_);
    ++ended_before_;
  }

  void stop() {
    call_ = nullptr;
    signal(begun_);
    for (auto& thread : others_) thread.join();
    others_.clear();
  }

  // Some tens of microseconds; none where threads have to take turns.
  static int patience(int size) {
    auto const processors = std::thread::hardware_concurrency();
    return processors != 0 && static_cast<unsigned>(size) > processors ? 0 : 4000;
  }

  int size_;
  int patience_;
  void* work_ = nullptr;
  void (*call_)(void*, int) = nullptr;
  std::uint32_t ended_before_ = 0;
  std::atomic<bool> failed_ = false;
  // Each in a cache line of its own: waiting for one must not slow down the others.
  alignas(64) counter begun_ = 0;
  alignas(64) counter ended_ = 0;
  alignas(64) counter passed_ = 0;
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<int> left_ = 0;
  std::vector<std::thread> others_;
};

}  // namespace stagecraft
