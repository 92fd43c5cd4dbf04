// SPDX-License-Identifier: BSD-3-Clause
// Threads that answer complete requests, of any protocol, which may take long.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// A thread is added when there is work for it, up to a limit; if the system has no more threads, the present ones do
/// all the work.
template <class Task>
class worker_pool {
 public:
  using task_pointer = std::unique_ptr<Task>;

  /// `work` must not throw, and hands the task on. Throws std::system_error if not even one thread can begin.
  worker_pool(std::size_t most_threads, std::size_t most_waiting, std::function<void(task_pointer)> work);
  worker_pool(worker_pool const&) = delete;
  worker_pool& operator=(worker_pool const&) = delete;
  /// Finishes all tasks that it has taken.
  ~worker_pool();

  /// Takes the task; returns false if the limit of waiting tasks is reached.
  [[nodiscard]] bool take(task_pointer& task);

 private:
  void begin_thread();
  void run();

  std::size_t most_threads_, most_waiting_;
  std::function<void(task_pointer)> work_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<task_pointer> tasks_;
  std::size_t idle_ = 0;
  bool ends_ = false;
  std::vector<pthread_t> threads_;  // only callers of `take` use it
};

template <class Task>
worker_pool<Task>::worker_pool(std::size_t most_threads, std::size_t most_waiting,
                               std::function<void(task_pointer)> work)
    : most_threads_(most_threads), most_waiting_(most_waiting), work_(std::move(work)) {
  begin_thread();
}

template <class Task>
worker_pool<Task>::~worker_pool() {
  {
    std::scoped_lock const lock(mutex_);
    ends_ = true;
  }
  wakes_.notify_all();
  for (auto const each : threads_) ::pthread_join(each, nullptr);
}

template <class Task>
void worker_pool<Task>::begin_thread() {
  threads_.reserve(threads_.size() + 1);  // reserved first: adding a started thread must not fail
  constexpr std::size_t stack_bytes = std::size_t{1} << 20;
  pthread_attr_t how;
  pthread_t made{};
  ::pthread_attr_init(&how);
  ::pthread_attr_setstacksize(&how, stack_bytes);
  int const problem = ::pthread_create(
      &made, &how,
      [](void* own) -> void* {
        static_cast<worker_pool*>(own)->run();
        return nullptr;
      },
      this);
  ::pthread_attr_destroy(&how);
  if (problem != 0) throw std::system_error(problem, std::generic_category(), "a thread cannot begin");
  threads_.push_back(made);
}

template <class Task>
bool worker_pool<Task>::take(task_pointer& task) {
  bool is_short = false;
  {
    std::scoped_lock const lock(mutex_);
    is_short = tasks_.size() >= idle_;
    if (is_short && threads_.size() >= most_threads_ && tasks_.size() - idle_ >= most_waiting_) return false;
    tasks_.push_back(std::move(task));
  }
  wakes_.notify_one();
  if (is_short && threads_.size() < most_threads_) {
    try {
      begin_thread();
    } catch (std::exception const&) {  // the present threads do it
    }
  }
  return true;
}

template <class Task>
void worker_pool<Task>::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wakes_.wait(lock, [this] { return ends_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    work_(std::move(task));
    lock.lock();
  }
}

}  // namespace stagecraft::tool
