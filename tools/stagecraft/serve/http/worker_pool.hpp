// SPDX-License-Identifier: BSD-3-Clause
// Threads that answer whole requests, which may take their time.
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

/// Threads begin when there is work for one more of them, up to a number; where the system gives no more, those that
/// are there do all.
class worker_pool {
 public:
  using task_pointer = std::unique_ptr<http_task>;

  /// `work` throws nothing, and hands the task on. Throws std::system_error: not even one thread.
  worker_pool(std::size_t most_threads, std::size_t most_waiting, std::function<void(task_pointer)> work);
  worker_pool(worker_pool const&) = delete;
  worker_pool& operator=(worker_pool const&) = delete;
  /// Finishes what it has.
  ~worker_pool();

  /// Takes the task; false if as many wait as may.
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
  std::vector<pthread_t> threads_;  // those who take tasks alone touch it
};

}  // namespace stagecraft::tool
