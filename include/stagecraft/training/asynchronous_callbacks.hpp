// SPDX-License-Identifier: BSD-3-Clause
// Calls the callbacks of batches from a thread of its own, as soon as a step's results are there.
// Keras counterpart: PollingThread, `set_asynchronous_callbacks`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/run_kind.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>

namespace stagecraft::trainers {

/// Both hooks of a batch are called for every step, in order, when all replicas have given their results of it: once
/// for each replica, with its values if they are not reduced. At most `buffer_depth` results of a replica wait; a step
/// that gives one more waits itself. What a callback throws ends the run.
template <run_kind Kind, class Results>
class asynchronous_callbacks {
 public:
  using values_of_one = typename Results::values_of_one;
  using values_of_all = typename Results::values_of_all;

  asynchronous_callbacks(trainable& model, callback_list& callbacks, int buffer_depth, int busy_threads)
      : queue_(
            Results::replicas, buffer_depth, outfeed_mode::all, [] { return values_of_one{}; }, busy_threads),
        thread_(queue_),
        call_{&model, &callbacks} {}

  /// Before the first step. `values` belongs to the callbacks until `finish`, or until what is returned ends: then
  /// callbacks that are not called yet are dropped.
  [[nodiscard]] auto start(logs& values) {
    call_.values = &values;
    call_.stops.store(call_.model->stop_training, std::memory_order_relaxed);
    return thread_.start(call_);
  }
  /// Hands over a replica's results of its next step.
  void put(int replica, values_of_one const& values) {
    queue_.push(replica, [&](values_of_one& place) { place = values; });
  }
  /// Whether a callback wants training to stop.
  [[nodiscard]] bool stops() const noexcept { return call_.stops.load(std::memory_order_relaxed); }
  /// After the last step: waits for all callbacks. Throws what one of them has thrown.
  void finish() { thread_.finish(); }
  /// Ends every wait, when a step has failed elsewhere.
  void cancel() noexcept { queue_.cancel(); }

 private:
  struct call_hooks {
    trainable* model;
    callback_list* callbacks;
    logs* values = nullptr;
    std::atomic<bool> stops = false;

    call_hooks(trainable* of, callback_list* called) : model(of), callbacks(called) {}
    void operator()(std::int64_t step, tracing::array_view<values_of_one const> results) {
      auto const batch = static_cast<int>(step);
      values_of_all all;
      std::copy(results.begin(), results.end(), all.begin());
      for (int replica = 0; replica < Results::replicas; ++replica) {
        logs none;
        callbacks->on_batch_begin(Kind, batch, none);
        Results::write(all, *values, replica);
        callbacks->on_batch_end(Kind, batch, *values);
      }
      if (model->stop_training) stops.store(true, std::memory_order_relaxed);
    }
  };

  outfeed_queue<values_of_one> queue_;
  polling_thread<values_of_one> thread_;
  call_hooks call_;
};

}  // namespace stagecraft::trainers
