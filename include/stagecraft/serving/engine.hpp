// SPDX-License-Identifier: BSD-3-Clause
// A thread that runs a program for callers on any number of threads. Graphcore's counterpart is the engine thread of
// the embedded application runtime.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/serving/detail/call_failure.hpp>
#include <stagecraft/serving/detail/call_queue.hpp>
#include <stagecraft/serving/engine_statistics.hpp>
#include <stagecraft/serving/program.hpp>
#include <stagecraft/serving/reply.hpp>
#include <stagecraft/serving/runtime_options.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// Samples of calls become batches of the compiled size, or of the least of several sizes that holds those that wait,
/// in the order in which the calls came; a call may have any number of samples, and after each batch that it fills it
/// lets the others go first. An execution begins with the first of them and goes on while there are batches; when it
/// has had its iterations, the next one begins. A pipeline that is starved is fed with dummy batches after
/// runtime_api_timeout_us, so that what is in it comes out, and an idle engine does nothing at all.
///
/// A call is answered once: by its outputs, or by one error. What goes wrong in an execution is the error of the calls
/// with samples in it, or, if it fails before its first batch, of those that wait, and of no other. Any thread may call
/// any function at any time, but for the destructor.
class engine {
 public:
  /// Takes the program and starts the thread. Throws std::system_error if the system gives no more threads.
  explicit engine(std::unique_ptr<program> runs, runtime_options const& options = {})
      : program_(std::move(runs)), options_(options), feed_(*this) {
    auto const& known = program_->description();
    in_program_.resize(static_cast<std::size_t>(known.replicas));
    last_sample_.resize(known.inputs.size());
    for (std::size_t i = 0; i < known.inputs.size(); ++i)
      last_sample_[i].assign(static_cast<std::size_t>(known.inputs[i].size()), 0.0F);
    restart();
  }
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;
  /// As `stop`.
  ~engine() { stop(); }

  /// What is known of the program: shapes, batch size, stages.
  [[nodiscard]] program_description const& description() const noexcept { return program_->description(); }

  /// Gives the program samples: for each input those of all samples, one after the other. `time`: how long the answer
  /// may take; 0: any time. Throws data_error E4001, E4003 and E4010 inputs that are not the program's; serving_error
  /// E5081 the engine is stopped, E5082 too many calls wait.
  [[nodiscard]] reply submit(std::vector<std::vector<float>> inputs, std::int64_t samples,
                             std::chrono::microseconds time = {}) {
    check_inputs(inputs, samples);
    auto const call = std::make_shared<detail::call_record>();
    call->inputs = std::move(inputs);
    call->samples = samples;
    for (auto const& output : description().outputs)
      call->outputs.emplace_back(static_cast<std::size_t>(output.size() * samples));
    call->arrival = clock::now();
    if (time.count() > 0) call->deadline = call->arrival + time;
    {
      std::scoped_lock const lock(mutex_);
      counts_.left_calls += queue_.drop_left(call->arrival);
      if (!accepts_ || queue_.size() >= static_cast<std::size_t>(options_.max_enqueued_calls)) {
        ++counts_.refused_calls;
        if (!accepts_) throw runtime_stopped("E5081", "the engine is stopped and takes no calls");
        throw queue_full("E5082", std::to_string(queue_.size()) + " calls wait, as many as may wait");
      }
      ++counts_.calls;
      queue_.push(call);
    }
    wake_.notify_all();
    return reply(call);
  }

  /// The same, and waits for the outputs. Errors as `submit` and `reply::get`.
  [[nodiscard]] std::vector<std::vector<float>> call(std::vector<std::vector<float>> inputs, std::int64_t samples,
                                                     std::chrono::microseconds time = {}) {
    return submit(std::move(inputs), samples, time).get();
  }

  /// Takes no more calls, and answers those that it has.
  void drain() { end(false); }
  /// Takes no more calls; those that are in no batch yet are answered by E5081, the others as ever.
  void stop() { end(true); }
  /// Takes calls again, after `stop`, `drain` or an unrecoverable_runtime_error.
  /// Throws std::system_error if the system gives no more threads.
  void restart() {
    std::scoped_lock const controls(control_);
    if (is_running()) return;
    if (thread_.joinable()) thread_.join();
    std::scoped_lock const lock(mutex_);
    leaves_ = false;
    thread_ = std::thread([this] { serve(); });
    accepts_ = runs_ = true;
  }

  /// Whether it takes calls.
  [[nodiscard]] bool accepts_calls() const {
    std::scoped_lock const lock(mutex_);
    return accepts_;
  }
  /// What the engine has done since it was made.
  [[nodiscard]] engine_statistics statistics() const {
    std::scoped_lock const lock(mutex_);
    auto result = counts_;
    result.waiting = static_cast<std::int64_t>(queue_.size());
    result.in_flight = in_flight_;
    return result;
  }

 private:
  using clock = detail::serving_clock;
  using batch = detail::call_batch;

  struct own_feed final : program_feed {
    explicit own_feed(engine& of) : owner(of) {}
    int feed(int replica, float* const* inputs) override { return owner.fill(replica, inputs); }
    void take(int replica, float const* const* outputs) override { owner.take(replica, outputs); }
    void cancel() noexcept override { owner.cancel(); }
    engine& owner;
  };

  // E4001, E4003, E4010.
  void check_inputs(std::vector<std::vector<float>> const& inputs, std::int64_t samples) const {
    auto const& expected = description().inputs;
    if (inputs.size() != expected.size())
      throw data_error("E4010", "x: expected " + std::to_string(expected.size()) + " arrays, found " +
                                    std::to_string(inputs.size()));
    if (samples < 1) throw data_error("E4003", "x: expected at least 1 sample, found " + std::to_string(samples));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (static_cast<std::int64_t>(inputs[i].size()) != samples * expected[i].size())
        throw data_error("E4001", "input '" + expected[i].name + "': expected " + std::to_string(samples) +
                                      " samples of " + std::to_string(expected[i].size()) + " numbers, found " +
                                      std::to_string(inputs[i].size()) + " numbers");
  }

  [[nodiscard]] bool is_running() const {
    std::scoped_lock const lock(mutex_);
    return runs_;
  }

  void end(bool drops_waiting) {
    std::scoped_lock const controls(control_);
    {
      std::scoped_lock const lock(mutex_);
      accepts_ = false;
      leaves_ = true;
      if (drops_waiting) counts_.failed_calls += queue_.fail_waiting(detail::call_failure::of_stop());
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// The engine's thread.
  void serve() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return leaves_ || !queue_.empty(); });
        if (queue_.empty()) {
          runs_ = false;
          return;
        }
        cancelled_ = false;
        ++counts_.executions;
      }
      try {
        program_->run(feed_);
      } catch (...) {
        if (!end_execution(std::current_exception())) return;
      }
    }
  }

  [[nodiscard]] static bool goes_on(detail::call_failure const& failure) {
    return failure.what != detail::call_failure::kind::unrecoverable;
  }

  /// Ends an execution that was not carried out to its end; false if it was the last one. Lack of memory may be why it
  /// has failed: nothing here needs any.
  bool end_execution(std::exception_ptr const& why) noexcept {
    std::scoped_lock const lock(mutex_);
    bool const was_asked_for = std::exchange(ended_, false) && in_flight_ == 0;
    detail::call_failure const found = was_asked_for ? detail::call_failure() : detail::call_failure::of(why);
    if (!was_asked_for) {
      ++counts_.failures;
      bool has_begun = false;
      for (auto const& batches : in_program_)
        for (auto const& each : batches)
          for (auto const& part : each) {
            has_begun = true;
            counts_.failed_calls += part.call->finish(found) ? 1 : 0;
          }
      counts_.failed_calls += queue_.fail_in_program(found);
      // The next execution would most likely fail before its first batch, too, and so on until the calls' time is over.
      if (!has_begun) counts_.failed_calls += queue_.fail_waiting(found);
      if (!goes_on(found)) {
        counts_.failed_calls += queue_.fail_all(found);
        accepts_ = runs_ = false;
      }
    }
    for (auto& batches : in_program_) batches.clear();
    in_flight_ = 0;
    return goes_on(found);
  }

  /// Takes the next samples of the queue, or none.
  int fill(int replica, float* const* inputs) {
    batch taken;
    {
      std::unique_lock lock(mutex_);
      if (!wait_for_samples(lock)) return program_feed::no_more;
      // In its place from the beginning: what memory lacks for is a failure of these calls, and loses none of them.
      auto& place = in_program_[static_cast<std::size_t>(replica)].emplace_back();
      queue_.take(place, description().batch_size, counts_.left_calls);
      ++(place.empty() ? counts_.dummy_batches : counts_.batches);
      in_flight_ += place.empty() ? 0 : 1;
      taken = place;
    }
    return copy_inputs(taken, inputs);
  }

  /// Until a batch is to be made, perhaps without samples; false: the execution ends.
  bool wait_for_samples(std::unique_lock<std::mutex>& lock) {
    auto const starved = clock::now() + std::chrono::microseconds(options_.runtime_api_timeout_us);
    for (;;) {
      if (cancelled_) return false;
      auto const now = clock::now();
      counts_.left_calls += queue_.drop_left(now);
      if (!queue_.empty()) {
        auto const full = queue_.front().arrival + std::chrono::microseconds(options_.batch_timeout_us);
        if (leaves_ || now >= full || queue_.has_begun() || queue_.samples() >= description().batch_size) return true;
        wake_.wait_until(lock, full);
      } else if (in_flight_ > 0) {
        if (leaves_ || now >= starved) return true;
        wake_.wait_until(lock, starved);
      } else if (leaves_) {
        ended_ = true;
        return false;
      } else {
        wake_.wait(lock);
      }
    }
  }

  /// Places without a sample repeat one: zeros would not do, since a layer may have no finite value there.
  int copy_inputs(batch const& taken, float* const* inputs) {
    auto const& known = description();
    std::int64_t samples = 0;
    for (auto const& each : taken) samples += each.count;
    for (std::size_t i = 0; i < known.inputs.size(); ++i) {
      auto const size = known.inputs[i].size();
      float* to = inputs[i];
      for (auto const& each : taken)
        to = std::copy_n(each.call->inputs[i].data() + each.first * size, each.count * size, to);
      std::scoped_lock const lock(last_sample_mutex_);
      auto& last = last_sample_[i];
      if (samples > 0) std::copy_n(inputs[i], size, last.data());  // of full batches, too: a dummy one may follow
      for (auto place = samples; place < known.places_for(samples); ++place) to = std::copy_n(last.data(), size, to);
    }
    return static_cast<int>(samples);
  }

  void take(int replica, float const* const* outputs) {
    batch finished, answered;
    {
      std::scoped_lock const lock(mutex_);
      auto& batches = in_program_[static_cast<std::size_t>(replica)];
      answered.reserve(batches.front().size());  // as long as a lack of memory loses no call
      finished = std::move(batches.front());
      batches.pop_front();
    }
    if (finished.empty()) return;
    auto const& known = description();
    for (std::size_t i = 0; i < known.outputs.size(); ++i) {
      auto const size = known.outputs[i].size();
      float const* from = outputs[i];
      for (auto const& each : finished) {
        std::copy_n(from, each.count * size, each.call->outputs[i].data() + each.first * size);
        from += each.count * size;
      }
    }
    {
      std::scoped_lock const lock(mutex_);
      --in_flight_;
      for (auto const& each : finished)
        if ((each.call->done += each.count) == each.call->samples) {
          counts_.samples += each.call->samples;
          answered.push_back(each);
        }
    }
    wake_.notify_all();
    for (auto const& each : answered) each.call->finish();
  }

  void cancel() noexcept {
    {
      std::scoped_lock const lock(mutex_);
      cancelled_ = true;
    }
    wake_.notify_all();
  }

  std::unique_ptr<program> program_;
  runtime_options options_;
  own_feed feed_;

  std::mutex control_;  // of those who start and stop
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  detail::call_queue queue_;
  std::vector<std::deque<batch>> in_program_;  // of each replica, in the order of its batches
  std::int64_t in_flight_ = 0;                 // batches with samples among them
  bool accepts_ = false, runs_ = false, leaves_ = false;
  bool cancelled_ = false;  // the execution has failed elsewhere
  bool ended_ = false;      // the execution was told to end
  engine_statistics counts_;

  std::mutex last_sample_mutex_;
  std::vector<std::vector<float>> last_sample_;
  std::thread thread_;
};

}  // namespace stagecraft::serving

#include <stagecraft/diagnostics/end_headers.hpp>
