// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/worker_pool.hpp"

#include <exception>
#include <system_error>
#include <utility>

namespace stagecraft::tool {

worker_pool::worker_pool(std::size_t most_threads, std::size_t most_waiting, std::function<void(task_pointer)> work)
    : most_threads_(most_threads), most_waiting_(most_waiting), work_(std::move(work)) {
  begin_thread();
}

worker_pool::~worker_pool() {
  {
    std::scoped_lock const lock(mutex_);
    ends_ = true;
  }
  wakes_.notify_all();
  for (auto const each : threads_) ::pthread_join(each, nullptr);
}

void worker_pool::begin_thread() {
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

bool worker_pool::take(task_pointer& task) {
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

void worker_pool::run() {
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
