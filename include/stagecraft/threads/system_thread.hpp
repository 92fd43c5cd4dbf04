// SPDX-License-Identifier: BSD-3-Clause
// A thread of the system: a std::thread without the templates that each program would pay for.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/mutex.hpp>
#include <system_error>

namespace stagecraft::threads {

/// Runs one function on an object, with a number of its own. The thread object does not move while the function starts.
class system_thread {
 public:
  using function = void (*)(void* what, int number) noexcept;

  system_thread() = default;
  system_thread(system_thread const&) = delete;
  system_thread& operator=(system_thread const&) = delete;

  /// Starts run(what, number), once. Errors: std::system_error if the system gives no more threads.
  void start(function run, void* what, int number = 0) {
    run_ = run;
    what_ = what;
    number_ = number;
#if defined(STAGECRAFT_ONE_THREAD)
    complain(static_cast<int>(std::errc::operation_not_supported));
#else
    int const problem = pthread_create(
        &handle_, nullptr,
        [](void* self) noexcept -> void* {
          auto const& own = *static_cast<system_thread const*>(self);
          own.run_(own.what_, own.number_);
          return nullptr;
        },
        this);
    if (problem != 0) complain(problem);
    runs_ = true;
#endif
  }

  /// Waits for the end of the function, if it was started. Call this before the object is destroyed.
  void join() noexcept {
    if (!runs_) return;
#if !defined(STAGECRAFT_ONE_THREAD)
    pthread_join(handle_, nullptr);
#endif
    runs_ = false;
  }

 private:
  [[noreturn, gnu::cold]] static void complain(int problem) {
    throw std::system_error(problem, std::generic_category(), "a thread cannot be started");
  }

#if !defined(STAGECRAFT_ONE_THREAD)
  pthread_t handle_{};
#endif
  function run_ = nullptr;
  void* what_ = nullptr;
  int number_ = 0;
  bool runs_ = false;
};

}  // namespace stagecraft::threads
