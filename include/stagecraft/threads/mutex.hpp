// SPDX-License-Identifier: BSD-3-Clause
// POSIX's locks and condition variables. <mutex>, <condition_variable> and <thread> cost each program 0.1 s of compile
// time, most of it for parts that nobody uses here.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

// A program for WebAssembly has one thread, unless it is compiled with -pthread.
#if defined(__wasm__) && !defined(_REENTRANT)
#define STAGECRAFT_ONE_THREAD
#include <cstdlib>
#else
#include <pthread.h>
#endif

#if defined(STAGECRAFT_ONE_THREAD)
namespace stagecraft::threads {

/// A lock of the only thread.
class mutex {
 public:
  mutex() = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;

 private:
  friend class scoped_lock;
  bool taken_ = false;
};

/// Holds a mutex until it is destroyed, or until `unlock`. Taking it twice ends the program: nobody could release it.
class scoped_lock {
 public:
  explicit scoped_lock(mutex& locked) noexcept : locked_(&locked) { lock(); }
  struct if_free {};
  scoped_lock(mutex& locked, if_free) noexcept : locked_(&locked) {
    if (!locked.taken_) lock();
  }
  scoped_lock(scoped_lock const&) = delete;
  scoped_lock& operator=(scoped_lock const&) = delete;
  ~scoped_lock() {
    if (owns_) unlock();
  }

  [[nodiscard]] bool owns_lock() const noexcept { return owns_; }
  void lock() noexcept {
    if (locked_->taken_) std::abort();
    owns_ = locked_->taken_ = true;
  }
  void unlock() noexcept { owns_ = locked_->taken_ = false; }

 private:
  mutex* locked_;
  bool owns_ = false;
};

/// What the only thread cannot wait for: nobody could wake it, so that waiting ends the program.
class condition {
 public:
  condition() = default;
  condition(condition const&) = delete;
  condition& operator=(condition const&) = delete;

  [[noreturn]] void wait(scoped_lock&) noexcept { std::abort(); }
  void wake_all() noexcept {}
};

}  // namespace stagecraft::threads
#else
namespace stagecraft::threads {

/// A lock that one thread at a time holds.
class mutex {
 public:
  mutex() = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;

 private:
  friend class scoped_lock;
  pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex until it is destroyed, or until `unlock`.
class scoped_lock {
 public:
  explicit scoped_lock(mutex& locked) noexcept : handle_(&locked.handle_) { lock(); }
  /// Takes the mutex only if no other thread holds it: see `owns_lock`.
  struct if_free {};
  scoped_lock(mutex& locked, if_free) noexcept
      : handle_(&locked.handle_), owns_(pthread_mutex_trylock(&locked.handle_) == 0) {}
  scoped_lock(scoped_lock const&) = delete;
  scoped_lock& operator=(scoped_lock const&) = delete;
  ~scoped_lock() {
    if (owns_) unlock();
  }

  [[nodiscard]] bool owns_lock() const noexcept { return owns_; }
  void lock() noexcept {
    pthread_mutex_lock(handle_);
    owns_ = true;
  }
  void unlock() noexcept {
    owns_ = false;
    pthread_mutex_unlock(handle_);
  }

 private:
  friend class condition;
  pthread_mutex_t* handle_;
  bool owns_ = false;
};

/// A condition variable: threads sleep on it until another one changes what they wait for.
class condition {
 public:
  condition() = default;
  condition(condition const&) = delete;
  condition& operator=(condition const&) = delete;
  ~condition() { pthread_cond_destroy(&handle_); }

  /// Releases the lock and sleeps until it is woken. It may also wake for no reason.
  void wait(scoped_lock& lock) noexcept { pthread_cond_wait(&handle_, lock.handle_); }
  void wake_all() noexcept { pthread_cond_broadcast(&handle_); }

 private:
  pthread_cond_t handle_ = PTHREAD_COND_INITIALIZER;
};

}  // namespace stagecraft::threads
#endif
