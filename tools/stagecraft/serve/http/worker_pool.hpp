// SPDX-License-Identifier: BSD-3-Clause
// Threads that answer complete requests, of any protocol, which may take long.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// A thread is added when there is work for it, up to a limit; if the system has no more threads, the present ones do
/// all the work. Tasks have lanes, one for each model: the next task is one of the lane with the fewest tasks that are
/// being done, and no lane with others beside it has all threads, or all places of the queue, so that a model with many
/// or long calls does not keep those of others waiting.
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

  /// Takes the task; returns false if the limit of waiting tasks is reached. `has_others`: there may be tasks of other
  /// lanes, for which a quarter of the threads is kept. Throws std::bad_alloc.
  [[nodiscard]] bool take(task_pointer& task, std::string_view lane = {}, bool has_others = false);

 private:
  struct lane {
    std::deque<task_pointer> tasks;
    std::size_t running = 0;
  };
  using lane_map = std::map<std::string, lane, std::less<>>;

  static constexpr std::size_t most_kept = 64;  // lanes; clients may name models that are not there

  void begin_thread();
  void run();
  /// The lane of the next task; the end if none may begin.
  [[nodiscard]] typename lane_map::iterator next_lane() noexcept;
  [[nodiscard]] std::size_t most_of_one() const noexcept {
    return has_others_ ? most_threads_ - most_threads_ / 4 : most_threads_;
  }

  std::size_t most_threads_, most_waiting_;
  std::function<void(task_pointer)> work_;
  std::mutex mutex_;
  std::condition_variable wakes_;
  lane_map lanes_;  // also some without tasks, so that a task rarely needs memory for one
  std::size_t waiting_ = 0, idle_ = 0;
  bool has_others_ = false;
  bool ends_ = false;
  std::vector<pthread_t> threads_;  // only callers of `take` use it
};

template <class Task>
worker_pool<Task>::worker_pool(std::size_t most_threads, std::size_t most_waiting,
                               std::function<void(task_pointer)> work)
    : most_threads_(most_threads), most_waiting_(most_waiting), work_(std::move(work)) {
  lanes_.try_emplace(std::string());  // that of tasks without a lane is never erased
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
bool worker_pool<Task>::take(task_pointer& task, std::string_view name, bool has_others) {
  bool is_short = false;
  {
    std::scoped_lock const lock(mutex_);
    is_short = waiting_ >= idle_;
    auto found = lanes_.find(name);
    if (is_short && threads_.size() >= most_threads_ && waiting_ - idle_ >= most_waiting_) {
      // Another lane's tasks may fill the queue: each has its part of it.
      auto const is_busy = [](auto const& one) { return one.second.running > 0 || !one.second.tasks.empty(); };
      bool const is_new = found == lanes_.end() || !is_busy(*found);
      auto const lanes =
          static_cast<std::size_t>(std::count_if(lanes_.begin(), lanes_.end(), is_busy)) + (is_new ? 1 : 0);
      auto const own = is_new ? 0 : found->second.tasks.size();
      if (lanes == 1 || own >= std::max(most_waiting_ / lanes, std::size_t{1}) || waiting_ - idle_ >= 2 * most_waiting_)
        return false;
    }
    if (found == lanes_.end()) found = lanes_.try_emplace(std::string(name)).first;
    found->second.tasks.push_back(std::move(task));
    ++waiting_;
    has_others_ = has_others;
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
typename worker_pool<Task>::lane_map::iterator worker_pool<Task>::next_lane() noexcept {
  auto best = lanes_.end();
  for (auto each = lanes_.begin(); each != lanes_.end(); ++each) {
    if (each->second.tasks.empty() || (each->second.running >= most_of_one() && !ends_)) continue;
    if (best == lanes_.end() || each->second.running < best->second.running) best = each;
  }
  return best;
}

template <class Task>
void worker_pool<Task>::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto found = lanes_.end();
    ++idle_;
    wakes_.wait(lock, [&] { return (found = next_lane()) != lanes_.end() || (ends_ && waiting_ == 0); });
    --idle_;
    if (found == lanes_.end()) return;
    auto task = std::move(found->second.tasks.front());
    found->second.tasks.pop_front();
    ++found->second.running;
    --waiting_;
    lock.unlock();
    work_(std::move(task));
    lock.lock();
    // This thread goes on with what may begin now, so that no other one has to be woken.
    bool const is_unused = --found->second.running == 0 && found->second.tasks.empty();
    if (is_unused && lanes_.size() > most_kept && !found->first.empty()) lanes_.erase(found);
  }
}

}  // namespace stagecraft::tool
