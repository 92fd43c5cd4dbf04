// SPDX-License-Identifier: BSD-3-Clause
// The thread that hands out results while the model works: the polling thread of asynchronous callbacks in Keras on
// IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/background_thread.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/threads/running.hpp>
#include <exception>

namespace stagecraft::threads {

/// Calls a handler for every step of a queue, in order, on a thread of its own. Graphcore's has to look again and
/// again, after pauses that it adapts to the time of a step, since the device cannot wake it; this one sleeps until the
/// last replica's result of a step wakes it, so there are no pauses to adapt, and no result waits for one. Errors:
/// std::system_error if the system gives no more threads.
template <class Result>
class polling_thread {
 public:
  /// The queue outlives it.
  explicit polling_thread(outfeed_queue<Result>& queue) : queue_(&queue) {}
  polling_thread(polling_thread const&) = delete;
  polling_thread& operator=(polling_thread const&) = delete;
  ~polling_thread() { stop(); }

  /// Starts the queue anew, and `handler(step, results)` for what is pushed from now on.
  /// First stops what runs. The run ends with what is returned, at the latest, and the handler outlives that.
  /// Throws data_error E4062 unless the queue's mode is all.
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

  /// After the last push: waits until all complete steps are handled. Throws what the handler has thrown.
  void finish() {
    queue_->close();
    thread_.wait();
    if (queue_->failure().error()) std::rethrow_exception(queue_->failure().error());
  }

  /// Drops what is not handled yet, and waits for the handler. What it throws is not heard of.
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
