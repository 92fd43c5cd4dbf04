// SPDX-License-Identifier: BSD-3-Clause
// A predictor, or an application, that any number of threads may call at once: Graphcore's embedded application
// runtime. A servable, its queue of calls, and the thread that runs it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/serving/detail/call_queue.hpp>
#include <stagecraft/serving/predictor_servable.hpp>
#include <stagecraft/serving/reply.hpp>
#include <stagecraft/serving/runtime_options.hpp>
#include <stagecraft/serving/servable.hpp>
#include <stagecraft/serving/serving_errors.hpp>
#include <stagecraft/training/data/data_checks.hpp>
#include <stagecraft/training/data/sample_set.hpp>
#include <stagecraft/training/data/xtensor.hpp>
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
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::serving {

/// Runs a servable on a thread of its own for callers on any number of threads.
///
///     inline constexpr auto inference = sc::inference{.batch_size = 8, .steps_per_execution = 4};
///     sc::predictor<mlp, inference> model;
///     model.load_weights("digits.safetensors");
///     sc::serving::embedded_runtime runtime(std::move(model), {.runtime_api_timeout_us = 5000});
///     xt::xarray<float> const logits = runtime(digits)[0];                  // on any thread
///
/// Samples of all callers share batches of the compiled size, or of the least of several sizes that holds the waiting
/// samples, in the order of the calls. A call may have any number of samples; after each batch that it fills it lets
/// the others go first. Each caller gets the outputs of its own samples, with the bits that `predict` returns. An
/// execution begins with the first batch and continues while batches come, up to `iterations`; then the next one
/// begins. After runtime_api_timeout_us a pipeline that is starved gets dummy batches, so that its samples come out.
/// An idle runtime uses no processor time.
///
/// A call is answered once: by its outputs, or by one error. An error in an execution is the error of the calls with
/// samples in it, or, if it fails before its first batch, of the waiting calls, and of no other. Any thread may call
/// any function at any time, except the destructor.
class embedded_runtime {
 public:
  /// Takes a predictor whose weights are given. `output_names`: names of the outputs in the description.
  /// Throws std::system_error if the system has no more threads.
  template <class Predictor>
    requires(!std::is_lvalue_reference_v<Predictor> && requires { typename Predictor::session_type; })
  explicit embedded_runtime(Predictor&& model, runtime_options const& options = {},
                            std::vector<std::string> const& output_names = {})
      : embedded_runtime(std::make_unique<predictor_servable<Predictor>>(std::move(model), output_names), options) {}
  /// Takes a servable, such as that of an application_file, and starts the thread. Throws std::system_error if the
  /// system has no more threads.
  explicit embedded_runtime(std::unique_ptr<servable> runs, runtime_options const& options = {})
      : servable_(std::move(runs)), options_(options), feed_(*this) {
    auto const& known = servable_->description();
    in_servable_.resize(static_cast<std::size_t>(known.replicas));
    last_sample_.resize(known.inputs.size());
    for (std::size_t i = 0; i < known.inputs.size(); ++i)
      last_sample_[i].assign(static_cast<std::size_t>(known.inputs[i].size()), 0.0F);
    restart();
  }
  embedded_runtime(embedded_runtime const&) = delete;
  embedded_runtime& operator=(embedded_runtime const&) = delete;
  /// Stops the runtime, as `stop` does.
  ~embedded_runtime() { stop(); }

  /// Names and shapes of inputs and outputs, batch size, iterations, stages.
  [[nodiscard]] servable_description const& description() const noexcept { return servable_->description(); }

  /// Queues a call. `inputs`: for each input the numbers of all samples, one sample after the other. `time`: how long
  /// the answer may take; 0: any time. `priority`: 1 and so on, calls of which come into a batch before those of a
  /// higher number; 0: after all these. Throws data_error E4001, E4003 and E4010 inputs that are not the model's;
  /// serving_error E5081 the runtime is stopped, E5082 the queue is full.
  [[nodiscard]] reply submit(std::vector<std::vector<float>> inputs, std::int64_t samples,
                             std::chrono::microseconds time = {}, int priority = 0) {
    check_inputs(inputs, samples);
    auto const call = std::make_shared<detail::call_record>();
    call->inputs = std::move(inputs);
    call->samples = samples;
    call->priority = priority;
    for (auto const& output : description().outputs)
      call->outputs.emplace_back(static_cast<std::size_t>(output.size() * samples));
    call->arrival = clock::now();
    if (time.count() > 0) call->deadline = call->arrival + time;
    {
      std::scoped_lock const lock(mutex_);
      counts_.left_calls += queue_.drop_left(call->arrival);
      if (!accepts_ || queue_.size() >= static_cast<std::size_t>(options_.max_enqueued_calls)) {
        ++counts_.refused_calls;
        if (!accepts_) throw runtime_stopped("E5081", "the embedded runtime is stopped and takes no calls");
        throw queue_full("E5082", std::to_string(queue_.size()) + " calls wait, as many as may wait");
      }
      ++counts_.calls;
      queue_.push(call);
    }
    wake_.notify_all();
    return reply(call);
  }

  /// Queues a call and waits for its outputs. Errors as `submit` and `reply::get`.
  [[nodiscard]] std::vector<std::vector<float>> call(std::vector<std::vector<float>> inputs, std::int64_t samples,
                                                     std::chrono::microseconds time = {}, int priority = 0) {
    return submit(std::move(inputs), samples, time, priority).get();
  }

  /// Takes no more calls, and answers those in the queue.
  void drain() { end(false); }
  /// Takes no more calls. Calls of which no sample is in a batch are answered by E5081, the others by their outputs.
  void stop() { end(true); }
  /// Takes calls again, after `stop`, `drain` or an unrecoverable_runtime_error.
  /// Throws std::system_error if the system has no more threads.
  void restart() {
    std::scoped_lock const controls(control_);
    if (is_running()) return;
    if (thread_.joinable()) thread_.join();
    std::scoped_lock const lock(mutex_);
    leaves_ = false;
    thread_ = std::thread([this] { serve(); });
    accepts_ = runs_ = true;
  }

  /// True if the runtime takes calls.
  [[nodiscard]] bool accepts_calls() const {
    std::scoped_lock const lock(mutex_);
    return accepts_;
  }
  /// Counts since the runtime was made, and the lengths of its queues now.
  [[nodiscard]] runtime_statistics statistics() const {
    std::scoped_lock const lock(mutex_);
    auto result = counts_;
    result.waiting = static_cast<std::int64_t>(queue_.size());
    result.in_flight = in_flight_;
    return result;
  }

  /// The outputs for samples in any number and of any type that `predict` takes: a tensor (samples, shape...) for each
  /// output of the model. Waits for them, for at most `time` if it is not 0. Throws data_error E4001 to E4003, E4010,
  /// E5225 data that do not fit; serving_error E5081 to E5086 as `submit` and `reply::get`.
  [[nodiscard]] std::vector<xt::xarray<float>> operator()(sample_set const& x, std::chrono::microseconds time = {}) {
    auto const& known = description();
    std::vector<shape> shapes(known.inputs.size());
    for (std::size_t i = 0; i < shapes.size(); ++i)
      for (auto const length : known.inputs[i].shape) shapes[i].push_back(static_cast<int>(length));
    trainers::check_shapes("x", x, shapes);
    trainers::check_count("x", x.count());
    trainers::check_lengths("x", x, "x", {});
    trainers::check_numbers("x", x);
    std::vector<std::vector<float>> inputs(shapes.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].resize(static_cast<std::size_t>(x.count() * known.inputs[i].size()));
      x[static_cast<int>(i)].gather(0, x.count(), inputs[i].data());
    }
    auto const values = call(std::move(inputs), x.count(), time);
    std::vector<xt::xarray<float>> results;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::vector<std::size_t> extents{static_cast<std::size_t>(x.count())};
      for (auto const length : known.outputs[i].shape) extents.push_back(static_cast<std::size_t>(length));
      results.emplace_back(xt::adapt(values[i], extents));
    }
    return results;
  }

 private:
  using clock = detail::serving_clock;
  using batch = detail::call_batch;

  struct own_feed final : servable_feed {
    explicit own_feed(embedded_runtime& of) : owner(of) {}
    int feed(int replica, float* const* inputs) override { return owner.fill(replica, inputs); }
    void take(int replica, float const* const* outputs) override { owner.take(replica, outputs); }
    void cancel() noexcept override { owner.cancel(); }
    embedded_runtime& owner;
  };

  // Throws E4001, E4003, E4010.
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

  /// The loop of the runtime's thread: an execution after the other, until the runtime is stopped.
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
        servable_->run(feed_);
      } catch (...) {
        if (!end_execution(std::current_exception())) return;
      }
    }
  }

  [[nodiscard]] static bool goes_on(detail::call_failure const& failure) {
    return failure.what != detail::call_failure::kind::unrecoverable;
  }

  /// Answers the calls of an execution that ended early, which needs no memory: its lack may be why the execution
  /// failed. Returns false if no execution may follow.
  bool end_execution(std::exception_ptr const& why) noexcept {
    std::scoped_lock const lock(mutex_);
    bool const was_asked_for = std::exchange(ended_, false) && in_flight_ == 0;
    detail::call_failure const found = was_asked_for ? detail::call_failure() : detail::call_failure::of(why);
    if (!was_asked_for) {
      ++counts_.failures;
      bool has_begun = false;
      for (auto const& batches : in_servable_)
        for (auto const& each : batches)
          for (auto const& part : each) {
            has_begun = true;
            counts_.failed_calls += part.call->finish(found) ? 1 : 0;
          }
      counts_.failed_calls += queue_.fail_in_servable(found);
      // The next execution would most likely fail before its first batch, too, and so on until the calls' time is over:
      // also that of calls which have outputs of some samples, and wait for a place for the others.
      if (!has_begun || !goes_on(found)) counts_.failed_calls += queue_.fail_all(found);
      if (!goes_on(found)) accepts_ = runs_ = false;
    }
    for (auto& batches : in_servable_) batches.clear();
    in_flight_ = 0;
    return goes_on(found);
  }

  /// Fills a batch with the next samples of the queue; the batch is a dummy one if the queue is empty.
  int fill(int replica, float* const* inputs) {
    batch taken;
    {
      std::unique_lock lock(mutex_);
      if (!wait_for_samples(lock)) return servable_feed::no_more;
      // The batch is made in its place, so that a lack of memory fails these calls and loses none of them.
      auto& place = in_servable_[static_cast<std::size_t>(replica)].emplace_back();
      queue_.take(place, description().batch_size, counts_.left_calls);
      ++(place.empty() ? counts_.dummy_batches : counts_.batches);
      count_waits(place);
      in_flight_ += place.empty() ? 0 : 1;
      taken = place;
    }
    return copy_inputs(taken, inputs);
  }

  /// Counts how long calls have waited whose first samples are in the batch.
  void count_waits(batch const& taken) {
    auto const now = clock::now();
    for (auto const& part : taken) {
      if (part.first != 0) continue;
      ++counts_.begun_calls;
      counts_.queue_us += std::chrono::duration_cast<std::chrono::microseconds>(now - part.call->arrival).count();
    }
  }

  /// Waits until a batch is due, perhaps a dummy one. Returns false if the execution ends.
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

  /// Places without a sample repeat the last one, since a layer may have no finite value at zero.
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
      if (samples > 0) std::copy_n(inputs[i], size, last.data());  // a dummy batch may follow a full one
      for (auto place = samples; place < known.places_for(samples); ++place) to = std::copy_n(last.data(), size, to);
    }
    return static_cast<int>(samples);
  }

  void take(int replica, float const* const* outputs) {
    batch finished, answered;
    {
      std::scoped_lock const lock(mutex_);
      auto& batches = in_servable_[static_cast<std::size_t>(replica)];
      answered.reserve(batches.front().size());  // while a lack of memory still loses no call
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

  std::unique_ptr<servable> servable_;
  runtime_options options_;
  own_feed feed_;

  std::mutex control_;  // held while the thread is started or stopped
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  detail::call_queue queue_;
  std::vector<std::deque<batch>> in_servable_;  // for each replica, in the order of its batches
  std::int64_t in_flight_ = 0;                  // batches with samples among them
  bool accepts_ = false, runs_ = false, leaves_ = false;
  bool cancelled_ = false;  // the execution has failed elsewhere
  bool ended_ = false;      // the execution ended since nothing was left to do
  runtime_statistics counts_;

  std::mutex last_sample_mutex_;
  std::vector<std::vector<float>> last_sample_;
  std::thread thread_;
};

}  // namespace stagecraft::serving

#include <stagecraft/diagnostics/end_headers.hpp>
