// SPDX-License-Identifier: BSD-3-Clause
// Runs the steps of an epoch, an evaluation or a prediction, and calls the callbacks of its batches, on a thread of
// their own if asynchronous. Keras counterpart: PollingThread, `set_asynchronous_callbacks`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/threads/owned.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/callback_list.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>
#include <stagecraft/training/data/batch_feed.hpp>
#include <stagecraft/training/replica_results.hpp>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

namespace stagecraft::trainers {

/// Calls both hooks of a batch for every step, in order, when all replicas have put their results of it: once for each
/// replica, with its values if they are not reduced. At most `buffer_depth` results of a replica wait; a step with one
/// more waits itself. An exception of a callback ends the run.
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

  /// Call it before the first step. `values` belongs to the callbacks until `finish`, or until the returned object is
  /// destroyed, which drops callbacks that have not been called yet.
  [[nodiscard]] auto start(logs& values) {
    call_.values = &values;
    call_.stops.store(call_.model->stop_training, std::memory_order_relaxed);
    return thread_.start(call_);
  }
  /// Hands over a replica's results of its next step.
  void put(int replica, values_of_one const& values) {
    queue_.push(replica, [&](values_of_one& place) { place = values; });
  }
  /// True if a callback wants training to stop.
  [[nodiscard]] bool stops() const noexcept { return call_.stops.load(std::memory_order_relaxed); }
  /// Waits for all callbacks, after the last step. Rethrows the exception of a callback.
  void finish() { thread_.finish(); }
  /// Ends every wait, after a step has failed elsewhere.
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

/// The number of steps of each replica, and of steps that run at once.
struct step_counts {
  int steps = 0;
  int execution = 1;
};

/// Runs one execution after the other.
///
/// Callbacks of batches are called once per execution: the first hook with its first step before it, the second one
/// with its last step after it. With `asynchronous_callbacks`, both are called for every step of every replica, from a
/// thread of its own, as soon as the step's results are there (not in training and evaluation with
/// `accumulate_outfeed`); logs then hold the last replica's values as those of synchronous callbacks do for the same
/// step. Such a callback may ask for `stop_training` and for another learning rate, which later executions obey; the
/// callbacks of all executed steps are called. Hooks of epochs and runs are called on the caller's thread, after those
/// of all batches.
template <class Trained, run_kind Kind>
class step_runner {
  using session_type = typename Trained::session_type;
  using job = typename session_type::described;
  using processes = typename session_type::sizes::processes;

 public:
  using feed_type = batch_feed<session_type, Kind>;
  using results_type = replica_results<session_type, Kind>;
  static constexpr bool is_asynchronous =
      job::training.asynchronous_callbacks && (Kind == run_kind::prediction || !job::options.accumulate_outfeed);
  /// Threads that work at the same time.
  static constexpr int busy_threads =
      session_type::threads + (feed_type::prefetch_depth > 0 ? 1 : 0) + (is_asynchronous ? 1 : 0);

  step_runner(Trained& model, callback_list& callbacks, step_counts const& counts,
              typename feed_type::loader const& data, epoch_order const& order, int batch_size, int batches)
      : model_(model), callbacks_(callbacks), counts_(counts), feed_(data, order, batch_size, batches, busy_threads) {
    if constexpr (is_asynchronous) {
      asynchronous_ = threads::owned(new asynchronous_callbacks<Kind, results_type>(
          model, callbacks, job::training.outfeed_queue.buffer_depth, busy_threads));
    }
  }

  /// Runs all steps. `look(view, step)` is called for each step of each replica, perhaps for several replicas at the
  /// same time.
  template <class Look>
  [[gnu::cold]] void run(results_type& results, logs& values, Look const& look) {
    if constexpr (!processes::is_alone) {
      agree(0, 0);
      processes::share_weights(model_.session());
      feed_.scatter(counts_.steps);
    }
    model_.session().begin_run();
    // The order of these objects ensures that callbacks and batches end before the model is at rest again, however the
    // run ends.
    [[maybe_unused]] auto const beside_steps = begin_callbacks_beside_steps();
    [[maybe_unused]] auto const calling = begin_callbacks(values);
    [[maybe_unused]] auto const feeding = feed_.start(counts_.steps);
    [[maybe_unused]] logs none;  // logs of hooks before there are results
    for (int first = 0; first < counts_.steps && !stops(first); first += counts_.execution) {
      int const steps = std::min(counts_.execution, counts_.steps - first);
      model_.begin_execution();
      results.begin_execution(steps);
      if constexpr (!is_asynchronous) callbacks_.on_batch_begin(Kind, first, none);
      execute(first, steps, results, look);
      if constexpr (collects)
        if (is_looked_at_) processes::collect(model_.session());
      if constexpr (!processes::is_alone && Kind != run_kind::prediction) results.gather();
      if constexpr (!is_asynchronous) {
        results.write(values);
        callbacks_.on_batch_end(Kind, first + steps - 1, values);
      }
    }
    if constexpr (is_asynchronous) asynchronous_->finish();
    if constexpr (collects)
      if (!is_looked_at_) processes::collect(model_.session());
  }
  void run(results_type& results, logs& values) {
    run(results, values, [](auto const&, int) {});
  }

 private:
  /// The first process gets what others train: after each execution if it has callbacks, or else after the last one.
  static constexpr bool collects =
      Kind == run_kind::training &&
      (session_type::sizes::splits || (!processes::is_alone && session_type::sizes::shards_state));

  [[nodiscard]] auto begin_callbacks_beside_steps() {
    if constexpr (is_asynchronous)
      return typename Trained::callbacks_beside_steps(model_);
    else
      return no_queue{};
  }
  [[nodiscard]] auto begin_callbacks([[maybe_unused]] logs& values) {
    if constexpr (is_asynchronous)
      return asynchronous_->start(values);
    else
      return no_queue{};
  }

  /// A function that sessions call. Sessions with several threads also call `cancel`: when one thread has failed,
  /// others may wait here.
  struct bring_batch {
    step_runner& runner;
    int first;

    template <class Destination>
    void operator()(Destination& to, int replica, int step) const {
      runner.feed_.load(to, replica, first + step);
    }
    void cancel() const noexcept { runner.feed_.cancel(); }
  };
  template <class Look>
  struct take_results {
    step_runner& runner;
    results_type& results;
    Look const& look;
    int first;

    template <class View>
    void operator()(View const& step) const {
      auto& own = results[step.replica()];
      own.add(step);
      look(step, first + step.step());
      if constexpr (is_asynchronous) runner.asynchronous_->put(step.replica(), own.values());
    }
    void cancel() const noexcept {
      if constexpr (is_asynchronous) runner.asynchronous_->cancel();
    }
  };

  template <class Look>
  void execute(int first, int steps, results_type& results, Look const& look) {
    auto& session = model_.session();
    bring_batch const bring{*this, first};
    take_results<Look> const take{*this, results, look, first};
    if constexpr (Kind == run_kind::training)
      session.train(steps, bring, take);
    else if constexpr (Kind == run_kind::evaluation)
      session.test(steps, bring, take);
    else
      session.predict(steps, bring, take);
  }

  [[nodiscard]] bool stops([[maybe_unused]] int first) {
    if constexpr (!processes::is_alone)
      return agree(first, std::min(counts_.execution, counts_.steps - first));
    else if constexpr (Kind != run_kind::training)
      return false;
    else if constexpr (is_asynchronous)
      return asynchronous_->stops();
    else
      return model_.stop_training;
  }

  /// True if training stops. All processes are about to carry out these steps.
  bool agree(int first, int steps) {
    auto const all = processes::agree({.what = static_cast<int>(Kind),
                                       .first = first,
                                       .steps = steps,
                                       .of = counts_.steps,
                                       .batches = feed_.batches(),
                                       .batch_size = feed_.batch_size(),
                                       .scattered = feed_.scattered()},
                                      model_, Kind == run_kind::training, callbacks_.look_at_model());
    is_looked_at_ = all.looks;
    return all.stops;
  }

  Trained& model_;
  callback_list& callbacks_;
  step_counts counts_;
  bool is_looked_at_ = false;  // by callbacks of the first process
  feed_type feed_;
  std::conditional_t<is_asynchronous, threads::owned<asynchronous_callbacks<Kind, results_type>>, no_queue>
      asynchronous_;
};

}  // namespace stagecraft::trainers
