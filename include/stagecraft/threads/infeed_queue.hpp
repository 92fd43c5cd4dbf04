// SPDX-License-Identifier: BSD-3-Clause
// A queue of batches that a thread of its own prepares while the model works: Graphcore's IPUInfeedQueue.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/threads/background_thread.hpp>
#include <stagecraft/threads/first_failure.hpp>
#include <stagecraft/threads/progress.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace stagecraft::threads {

/// One producer, its own thread, and one consumer for each replica. Batches are numbered step by step, in a step
/// replica by replica: batch `step * replicas + replica`. Each replica has a ring of `prefetch_depth` elements, which
/// are made once and filled again and again; a lock is not needed, since each side publishes how far it has come.
///
/// Batches are filled in the order of their numbers. So a replica that runs ahead waits, at the latest when another one
/// leaves all its elements in use; a thread that takes for several replicas takes in the order of the numbers.
///
/// Nothing is allocated after the construction. A failure in one thread reaches the others: `take` throws what the
/// filling has thrown, and `cancel` ends every wait.
/// Errors: std::system_error if the system gives no more threads.
template <class Element>
class infeed_queue {
 public:
  /// `make()` returns a new element; it is called replicas * prefetch_depth times. `busy_threads` is the number of
  /// threads that work at the same time, as far as it is known. If they have to take turns, nobody waits in a loop.
  template <class Make>
  infeed_queue(int replicas, int prefetch_depth, Make const& make, int busy_threads = 0)
      : replicas_(replicas),
        depth_(prefetch_depth),
        patience_(patience_of(std::max(busy_threads, replicas + 1))),
        filled_(static_cast<std::size_t>(replicas)),
        released_(static_cast<std::size_t>(replicas)) {
    auto const places = filled_.size() * static_cast<std::size_t>(prefetch_depth);
    elements_.reserve(places);
    for (std::size_t i = 0; i < places; ++i) elements_.push_back(make());
  }
  infeed_queue(infeed_queue const&) = delete;
  infeed_queue& operator=(infeed_queue const&) = delete;
  ~infeed_queue() { stop(); }

  [[nodiscard]] int replicas() const noexcept { return replicas_; }
  [[nodiscard]] int prefetch_depth() const noexcept { return depth_; }

  /// Begins to fill batches 0 to total - 1 by `fill(element, number)`, after it has stopped a run before. The run ends
  /// at the latest when the returned object is destroyed, and `fill` outlives that.
  template <class Fill>
  running<infeed_queue> start(std::int64_t total, Fill& fill) noexcept {
    stop();
    for (auto& count : filled_) count.reset();
    for (auto& count : released_) count.reset();
    failure_.clear();
    total_ = total;
    fill_ = const_cast<void*>(static_cast<void const*>(&fill));
    call_ = [](void* what, Element& element, std::int64_t number) { (*static_cast<Fill*>(what))(element, number); };
    thread_.start(prefetch_);
    return running(*this);
  }

  /// Waits for a batch; it stays as it is until it is released. Each replica takes its own ones in order.
  /// Throws what the filling of this batch, or of one before, has thrown; data_error E4060 for a number that is not
  /// started; E4061 if the batch does not come since the queue was cancelled.
  [[nodiscard]] Element& take(std::int64_t number) {
    if (number < 0 || number >= total_)
      throw_data_error("E4060", "infeed_queue: expected the number of one of %lld batches, found %lld",
                       static_cast<long long>(total_), static_cast<long long>(number));
    auto const [replica, step] = place_of(number);
    if (!filled_[replica].await(step + 1, stopped(), patience_)) {
      if (failure_.error()) std::rethrow_exception(failure_.error());
      throw_data_error("E4061", "infeed_queue: batch %lld does not come: the queue was cancelled",
                       static_cast<long long>(number));
    }
    return element(replica, step);
  }

  /// Returns the element of a batch that was taken to the queue, which fills it again.
  void release(std::int64_t number) noexcept {
    auto const [replica, step] = place_of(number);
    released_[replica].publish(step + 1);
  }

  /// Ends every wait, and the filling after the batch that is being filled. Any thread may call it at any time.
  void cancel() noexcept { fail(nullptr); }

  /// Ends the filling, waits for it, and drops batches that are ready. Call it while no thread takes batches.
  void stop() noexcept {
    cancel();
    thread_.wait();
    total_ = 0;
  }

 private:
  struct place {
    std::size_t replica;
    std::int64_t step;
  };
  struct prefetch {
    infeed_queue* queue;
    void operator()() const noexcept { queue->fill_all(); }
  };

  [[nodiscard]] place place_of(std::int64_t number) const noexcept {
    return {static_cast<std::size_t>(number % replicas_), number / replicas_};
  }
  [[nodiscard]] Element& element(std::size_t replica, std::int64_t step) noexcept {
    return elements_[replica * static_cast<std::size_t>(depth_) + static_cast<std::size_t>(step % depth_)];
  }
  [[nodiscard]] auto stopped() const noexcept {
    return [this] { return failure_.failed(); };
  }

  void fill_all() noexcept {
    try {
      auto const patience = std::min(patience_, short_patience);
      for (std::int64_t number = 0; number < total_; ++number) {
        auto const [replica, step] = place_of(number);
        released_[replica].await(step + 1 - depth_, stopped(), patience);
        if (failure_.failed()) return;
        call_(fill_, element(replica, step), number);
        filled_[replica].publish(step + 1);
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void fail(std::exception_ptr error) noexcept {
    if (!failure_.fail(std::move(error))) return;
    for (auto& count : filled_) count.wake();
    for (auto& count : released_) count.wake();
  }

  int replicas_;
  int depth_;
  int patience_;
  std::int64_t total_ = 0;
  void* fill_ = nullptr;
  void (*call_)(void*, Element&, std::int64_t) = nullptr;
  first_failure failure_;
  std::vector<Element> elements_;  // the rings, one replica's after another's
  std::vector<progress> filled_;   // steps filled for each replica
  std::vector<progress> released_;
  prefetch prefetch_{this};
  background_thread thread_;
};

}  // namespace stagecraft::threads
