// SPDX-License-Identifier: BSD-3-Clause
// A queue of steps' results from the replicas to one thread (Graphcore's IPUOutfeedQueue), and the thread that hands
// them out while the model works (the polling thread of asynchronous callbacks in Keras on IPU).
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/threads/background_thread.hpp>
#include <stagecraft/threads/first_failure.hpp>
#include <stagecraft/threads/progress.hpp>
#include <stagecraft/threads/queue_options.hpp>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft::threads {

/// One producer for each replica, and one consumer. A step is handed out when all replicas have pushed their results of
/// it, in the order of steps. The places for `buffer_depth` steps are made once and written again and again; a lock is
/// not needed, since each side publishes how far it has come.
///
/// `outfeed_mode::all`: a producer waits while its results of `buffer_depth` steps are not handed out yet.
/// `outfeed_mode::last`: there is one place for each replica, a newer result replaces an older one and nobody waits.
/// Call `dequeue` while no producer works, which is between executions.
///
/// Nothing is allocated after the construction. What the consumer throws comes out of the producers' `push`.
template <class Result>
class outfeed_queue {
 public:
  /// `make()` returns a new result; it is called once for each place. `busy_threads` is the number of threads that work
  /// at the same time, as far as it is known. If they have to take turns, nobody waits in a loop.
  template <class Make>
  outfeed_queue(int replicas, int buffer_depth, outfeed_mode mode, Make const& make, int busy_threads = 0)
      : replicas_(static_cast<std::size_t>(replicas)),
        depth_(mode == outfeed_mode::last ? 1 : buffer_depth),
        mode_(mode),
        patience_(patience_of(std::max(busy_threads, replicas + 1))),
        written_(replicas_) {
    auto const places = replicas_ * static_cast<std::size_t>(depth_);
    results_.reserve(places);
    for (std::size_t i = 0; i < places; ++i) results_.push_back(make());
  }
  outfeed_queue(outfeed_queue const&) = delete;
  outfeed_queue& operator=(outfeed_queue const&) = delete;

  [[nodiscard]] int replicas() const noexcept { return static_cast<int>(replicas_); }
  [[nodiscard]] outfeed_mode mode() const noexcept { return mode_; }

  /// Forgets all results and errors, and opens the queue: steps count from 0 again. Call it while no thread uses the
  /// queue.
  void start() noexcept {
    for (auto& count : written_) count.reset();
    handed_out_.reset();
    closed_.store(false, std::memory_order_relaxed);
    failure_.clear();
  }

  /// Calls `write(result)` on the place of a replica's next result, when one is free. One thread per replica calls it.
  /// Throws what the consumer has thrown; data_error E4061 if the queue was cancelled; what `write` throws: then the
  /// result is not pushed.
  template <class Write>
  void push(int replica, Write&& write) {
    auto& written = written_[replica];
    auto const step = written.value();
    if (mode_ == outfeed_mode::all) handed_out_.await(step + 1 - depth_, failed(), patience_);
    if (failure_.failed()) {
      if (failure_.error()) std::rethrow_exception(failure_.error());
      throw_data_error("E4061", "outfeed_queue: step %lld of replica %d is not wanted: the queue was cancelled",
                       static_cast<long long>(step), replica);
    }
    write(results_of(step)[replica]);
    written.publish(step + 1);
  }

  /// Says that there are no more results. The consumer gets those that are there.
  void close() noexcept {
    closed_.store(true, std::memory_order_seq_cst);
    for (auto& count : written_) count.wake();
  }

  /// Waits for the next step, and calls `handler(step, results)` with a std::span<Result> of one result per replica;
  /// their places are free afterwards. False if the queue is closed and no complete step is left, or if it was
  /// cancelled. Throws what `handler` throws, and lets the producers throw it; data_error E4062 unless the mode is all.
  template <class Handler>
  bool poll(Handler&& handler) {
    check_polling();
    auto const step = handed_out_.value();
    auto const ended = [this] { return closed_.load(std::memory_order_seq_cst) || failure_.failed(); };
    auto const patience = std::min(patience_, short_patience);
    for (auto& count : written_)
      if (!count.await(step + 1, ended, patience)) return false;
    if (failure_.failed()) return false;
    hand_out(step, handler);
    return true;
  }

  /// Hands out the steps that are complete by now as `poll` does, without waiting; only the newest if the mode is last.
  /// Returns the number of steps.
  template <class Handler>
  int dequeue(Handler&& handler) {
    auto complete = written_.front().value();
    for (auto const& count : written_) complete = std::min(complete, count.value());
    int count = 0;
    for (auto step = handed_out_.value(); step < complete; ++step) {
      if (mode_ == outfeed_mode::last) step = complete - 1;
      hand_out(step, handler);
      ++count;
    }
    return count;
  }

  /// Ends every wait: nothing is handed out any more, and `push` throws the error, or E4061. Any thread may call it at
  /// any time; the first call counts.
  void cancel(std::exception_ptr error = nullptr) noexcept {
    if (!failure_.fail(std::move(error))) return;
    handed_out_.wake();
    for (auto& count : written_) count.wake();
  }
  /// The failure: true if the queue was cancelled, with its exception.
  [[nodiscard]] first_failure const& failure() const noexcept { return failure_; }

  /// Throws data_error E4062 unless the mode is all.
  void check_polling() const {
    if (mode_ != outfeed_mode::all)
      throw_data_error("E4062", "outfeed_queue: expected outfeed_mode::all to poll every step, found last");
  }

 private:
  [[nodiscard]] std::span<Result> results_of(std::int64_t step) noexcept {
    return std::span(results_).subspan(static_cast<std::size_t>(step % depth_) * replicas_, replicas_);
  }
  [[nodiscard]] auto failed() const noexcept {
    return [this] { return failure_.failed(); };
  }

  template <class Handler>
  void hand_out(std::int64_t step, Handler& handler) {
    try {
      handler(step, results_of(step));
    } catch (...) {
      cancel(std::current_exception());
      throw;
    }
    handed_out_.publish(step + 1);
  }

  std::size_t replicas_;
  std::int64_t depth_;
  outfeed_mode mode_;
  int patience_;
  std::vector<Result> results_;    // results of all replicas of a step, then of the next step
  std::vector<progress> written_;  // steps written by each replica
  progress handed_out_;
  std::atomic<bool> closed_ = false;
  first_failure failure_;
};

/// Calls a handler for every step of a queue, in order, on a thread of its own. Graphcore's polls the device again and
/// again, after pauses that it adapts to the time of a step. This one sleeps until the last replica's result of a step
/// wakes it, so that there are no pauses to adapt. Errors: std::system_error if the system gives no more threads.
template <class Result>
class polling_thread {
 public:
  /// The queue outlives it.
  explicit polling_thread(outfeed_queue<Result>& queue) : queue_(&queue) {}
  polling_thread(polling_thread const&) = delete;
  polling_thread& operator=(polling_thread const&) = delete;
  ~polling_thread() { stop(); }

  /// Restarts the queue, and calls `handler(step, results)` for the steps that are pushed from now on, after it has
  /// stopped a run before. The run ends at the latest when the returned object is destroyed, and `handler` outlives
  /// that. Throws data_error E4062 unless the queue's mode is all.
  template <class Handler>
  running<polling_thread> start(Handler& handler) {
    queue_->check_polling();
    stop();
    queue_->start();
    handler_ = const_cast<void*>(static_cast<void const*>(&handler));
    poll_ = [](outfeed_queue<Result>& queue, void* what) { return queue.poll(*static_cast<Handler*>(what)); };
    thread_.start(poll_all_);
    return running(*this);
  }

  /// Waits until all complete steps are handled; call it after the last push. Throws what the handler has thrown.
  void finish() {
    queue_->close();
    thread_.wait();
    if (queue_->failure().error()) std::rethrow_exception(queue_->failure().error());
  }

  /// Drops the steps that are not handled yet, and waits for the handler, whose exceptions are ignored.
  void stop() noexcept {
    queue_->cancel();
    thread_.wait();
  }

 private:
  struct poll_all {
    polling_thread* self;
    void operator()() const noexcept {
      try {
        while (self->poll_(*self->queue_, self->handler_)) {
        }
      } catch (...) {  // the queue has kept it
      }
    }
  };

  outfeed_queue<Result>* queue_;
  void* handler_ = nullptr;
  bool (*poll_)(outfeed_queue<Result>&, void*) = nullptr;
  poll_all poll_all_{this};
  background_thread thread_;
};

}  // namespace stagecraft::threads
