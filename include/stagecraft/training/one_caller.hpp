// SPDX-License-Identifier: BSD-3-Clause
// Trainers and predictors work in memory of their own, so that one thread at a time may call them: who calls during
// another thread's call is told, instead of getting numbers of both.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <atomic>

namespace stagecraft::trainers {

/// Knows the thread that a call runs on. Callbacks may call the model that calls them: they are on its thread. Costs an
/// exchange of one number for a call, and allocates nothing. A call sees what the one before it has done.
class one_caller {
 public:
  one_caller() = default;
  // A call belongs to the object that it was made of.
  one_caller(one_caller&&) noexcept {}
  one_caller& operator=(one_caller&&) noexcept { return *this; }

  /// A call, as long as it lives; also if the call throws.
  class [[nodiscard]] call {
   public:
    explicit call(std::atomic<void const*>* ends) noexcept : ends_(ends) {}
    call(call const&) = delete;
    call& operator=(call const&) = delete;
    ~call() {
      if (ends_ != nullptr) ends_->store(nullptr, std::memory_order_release);
    }

   private:
    std::atomic<void const*>* ends_;  // null within another call of the same thread
  };

  /// Errors: E4107 another thread's call is not over.
  call begin(char const* what) {
    void const* running = nullptr;
    if (caller_.compare_exchange_strong(running, &mark_, std::memory_order_acquire, std::memory_order_relaxed))
      return call(&caller_);
    if (running != &mark_) refuse(what);
    return call(nullptr);
  }
  /// The same for what only reads, and may do so on several threads at once.
  void check(char const* what) const {
    void const* const running = caller_.load(std::memory_order_relaxed);
    if (running != nullptr && running != &mark_) refuse(what);
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void refuse(char const* what) {
    throw_data_error("E4107",
                     "%s: expected that no other thread is in a call of this model, found one that is; give "
                     "each thread a predictor of its own: predictor.sharing_weights()",
                     what);
  }

  // Its address is the thread's name.
  static inline constinit thread_local char mark_ = 0;

  std::atomic<void const*> caller_ = nullptr;
};

}  // namespace stagecraft::trainers
