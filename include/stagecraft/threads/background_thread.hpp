// SPDX-License-Identifier: BSD-3-Clause
// A thread that does one job after another while its owner goes on.
// What was started for as long as a scope lasts.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/progress.hpp>
#include <stagecraft/threads/system_thread.hpp>
#include <cstdint>

namespace stagecraft::threads {

/// Started once; asleep between two jobs. Nothing is allocated after the start.
/// Errors: std::system_error if the system gives no more threads.
class background_thread {
 public:
  background_thread() {
    thread_.start([](void* self, int) noexcept { static_cast<background_thread*>(self)->serve(); }, this);
  }
  background_thread(background_thread const&) = delete;
  background_thread& operator=(background_thread const&) = delete;
  /// Waits for the job.
  ~background_thread() {
    wait();
    call_ = nullptr;
    given_.publish(given_.value() + 1);
    thread_.join();
  }

  /// Calls `job()` there; it does not throw, and outlives `wait`. Waits first for the job before.
  template <class Job>
  void start(Job& job) noexcept {
    wait();
    job_ = &job;
    call_ = [](void* what) noexcept { (*static_cast<Job*>(what))(); };
    given_.publish(given_.value() + 1);
  }

  /// Waits until the job is done. What it has written is seen afterwards.
  void wait() noexcept { done_.await(given_.value(), never, 0); }

 private:
  static constexpr auto never = [] { return false; };

  void serve() noexcept {
    for (std::int64_t job = 1;; ++job) {
      given_.await(job, never, 0);
      if (call_ == nullptr) return;
      call_(job_);
      done_.publish(job);
    }
  }

  void* job_ = nullptr;
  void (*call_)(void*) noexcept = nullptr;
  progress given_, done_;
  system_thread thread_;
};

/// Stops at its end what works in the background, before what that uses is gone: it is declared after it.
template <class Runner>
class [[nodiscard]] running {
 public:
  explicit running(Runner& runner) noexcept : runner_(&runner) {}
  running(running const&) = delete;
  running& operator=(running const&) = delete;
  ~running() { runner_->stop(); }

 private:
  Runner* runner_;
};

}  // namespace stagecraft::threads
