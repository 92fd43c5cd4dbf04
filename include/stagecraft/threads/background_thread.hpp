// SPDX-License-Identifier: BSD-3-Clause
// A thread that does one job after another while its owner goes on, and a scope that ends what runs on such a thread.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/progress.hpp>
#include <stagecraft/threads/system_thread.hpp>
#include <cstdint>

namespace stagecraft::threads {

/// A thread that is started once and sleeps between two jobs. Nothing is allocated after the start.
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

  /// Calls `job()` on the thread, after the job before it. `job` does not throw, and outlives `wait`.
  template <class Job>
  void start(Job& job) noexcept {
    wait();
    job_ = &job;
    call_ = [](void* what) noexcept { (*static_cast<Job*>(what))(); };
    given_.publish(given_.value() + 1);
  }

  /// Waits until the job is done. The caller sees everything that it has written.
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

/// Stops a runner in its destructor. It is declared after the objects that the runner uses, so that it ends first.
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
