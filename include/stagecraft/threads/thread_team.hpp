// SPDX-License-Identifier: BSD-3-Clause
// Threads that carry out one step after another together.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/first_failure.hpp>
#include <stagecraft/threads/own_processor.hpp>
#include <stagecraft/threads/progress.hpp>
#include <stagecraft/threads/system_thread.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace stagecraft::threads {

/// `size` threads, the calling one included, that run the same work, each with its own number. The others are started
/// once; between two pieces of work they wait, first in a loop, then asleep. Nothing is allocated after the start.
///
/// Any thread may throw while work runs: the others then leave their work at their next `synchronize` or `await`, and
/// the first exception goes on to the caller of `run`.
/// Errors: std::system_error if the system gives no more threads.
class thread_team {
 public:
  /// `busy_threads` work at the same time, these included; 0: these alone.
  explicit thread_team(int size, int busy_threads = 0)
      : size_(size),
        patience_(patience_of(busy_threads > size ? busy_threads : size)),
        processors_(size),
        asleep_(static_cast<std::size_t>(size)),
        others_(static_cast<std::size_t>(size - 1)) {
    try {
      for (int thread = 1; thread < size; ++thread)
        others_[thread - 1].start(
            [](void* team, int number) noexcept { static_cast<thread_team*>(team)->serve(number); }, this, thread);
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
    run(work, [] {});
  }

  /// Runs work as above. `when_failed()` is called once, on the thread that throws first, and does not throw: it wakes
  /// threads that wait for something else than this team.
  template <class Work, class WhenFailed>
  void run(Work& work, WhenFailed const& when_failed) {
    work_ = &work;
    when_failed_ = &when_failed;
    call_ = [](thread_team& team, int thread) noexcept {
      try {
        (*static_cast<Work*>(team.work_))(thread);
      } catch (...) {
        if (team.fail(std::current_exception())) (*static_cast<WhenFailed const*>(team.when_failed_))();
      }
    };
    left_.store(size_ - 1, std::memory_order_relaxed);
    if (size_ > 1) begin_work(0);
    begun_.publish(begun_.value() + 1);
    call_(*this, 0);
    processors_.set_working(0, false);
    finish();
    if (!failure_.failed()) return;
    arrived_.store(0, std::memory_order_relaxed);
    std::rethrow_exception(failure_.clear());
  }

  /// Waits until all threads have come here. False if the work has failed: then a thread has nothing more to do.
  bool synchronize() {
    auto const phase = passed_.value();
    if (failure_.failed()) return false;
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
      arrived_.store(0, std::memory_order_relaxed);
      passed_.publish(phase + 1);
    } else {
      wait(passed_, phase + 1, [&](auto const& stopped) { passed_.sleep(phase + 1, stopped); });
    }
    return !failure_.failed();
  }

  /// Waits until a count that another of these threads publishes is `at_least`; the count outlives the work. False if
  /// the work has failed: then a thread has nothing more to do.
  bool await(progress& count, std::int64_t at_least) {
    wait(count, at_least, [&](auto const& stopped) {
      auto& place = place_to_sleep(count);
      count.sleep(at_least, stopped);
      place.store(nullptr, std::memory_order_release);
    });
    return !failure_.failed();
  }

 private:
  using sleeper = std::atomic<progress*>;
  static constexpr auto never = [] { return false; };

  void begin_work(int thread) noexcept {
    processors_.find(thread);
    processors_.set_working(thread, true);
  }

  template <class Sleep>
  void wait(progress const& count, std::int64_t at_least, Sleep const& sleep) {
    auto const stopped = [this] { return failure_.failed(); };
    if (count.spin(at_least, stopped, patience_)) return;
    int const own = patience_ > 0 ? processors_.own_number() : -1;
    if (own >= 0) {
      processors_.set_working(own, false);
      processors_.fetch_others(own, [&] { return count.spin(at_least, stopped, short_patience); });
    }
    sleep(stopped);
    if (own >= 0) begin_work(own);
  }

  // Each thread has one place.
  sleeper& place_to_sleep(progress& count) {
    for (std::size_t i = 0;; i = (i + 1) % asleep_.size()) {
      progress* nobody = nullptr;
      if (asleep_[i].compare_exchange_strong(nobody, &count, std::memory_order_seq_cst)) return asleep_[i];
    }
  }

  bool fail(std::exception_ptr error) noexcept {
    if (!failure_.fail(std::move(error))) return false;
    passed_.wake();
    for (auto const& place : asleep_)
      if (progress* const count = place.load(std::memory_order_seq_cst)) count->wake();
    return true;
  }

  void serve(int thread) {
    for (std::int64_t round = 1;; ++round) {
      begun_.await(round, never, patience_);
      if (call_ == nullptr) return;
      begin_work(thread);
      call_(*this, thread);
      processors_.set_working(thread, false);
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) ended_.publish(round);
    }
  }

  void finish() {
    if (size_ > 1) ended_.await(begun_.value(), never, patience_);
  }

  void stop() {
    call_ = nullptr;
    begun_.publish(begun_.value() + 1);
    for (auto& thread : others_) thread.join();
  }

  int size_;
  int patience_;
  own_processor processors_;
  void* work_ = nullptr;
  void const* when_failed_ = nullptr;
  void (*call_)(thread_team&, int) noexcept = nullptr;
  first_failure failure_;
  places<sleeper> asleep_;  // what each sleeping thread waits for
  progress begun_, ended_, passed_;
  // Each has a cache line of its own, so that waiting for one does not slow down the others.
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<int> left_ = 0;
  places<system_thread> others_;
};

}  // namespace stagecraft::threads
