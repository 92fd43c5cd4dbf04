// SPDX-License-Identifier: BSD-3-Clause
// Threads that answer complete requests, which may take long.
#pragma once

#include "serve/http/http_session.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace stagecraft::tool {

/// A thread is added when there is work for it, up to a limit; if the system has no more threads, the present ones do
/// all the work.
class worker_pool {
 public:
  using task_pointer = std::unique_ptr<http_task>;

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

}  // namespace stagecraft::tool
