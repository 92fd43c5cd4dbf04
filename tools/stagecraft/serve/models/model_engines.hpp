// SPDX-License-Identifier: BSD-3-Clause
// What computes the calls of one version: a runtime, or several ones with a copy of the program each, Triton's
// instances.
#pragma once

#include <stagecraft/serving/embedded_runtime.hpp>
#include <stagecraft/serving/servable.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// Any thread may call any function.
class model_engines {
 public:
  using tensors = std::vector<std::vector<float>>;

  /// At least one runtime; `bytes`: names of the inputs for which clients send bytes.
  explicit model_engines(std::vector<std::unique_ptr<serving::embedded_runtime>> runtimes,
                         std::set<std::string> const& bytes = {})
      : known_(runtimes.front()->description()) {
    for (auto& each : known_.inputs) each.is_bytes = bytes.contains(each.name);
    for (auto& each : runtimes) engines_.emplace_back(std::move(each));
  }
  /// The description of a model that others compute: an ensemble.
  explicit model_engines(serving::servable_description known) : known_(std::move(known)) {}

  /// The model, with its states.
  [[nodiscard]] serving::servable_description const& description() const noexcept { return known_; }

  /// The sums of all runtimes; of an ensemble, what was counted.
  [[nodiscard]] serving::runtime_statistics statistics() const {
    serving::runtime_statistics all{.calls = calls_, .samples = samples_, .batches = calls_};
    using counts = serving::runtime_statistics;
    static constexpr std::int64_t counts::* members[]{
        &counts::calls,         &counts::samples,     &counts::refused_calls, &counts::failed_calls, &counts::batches,
        &counts::dummy_batches, &counts::left_calls,  &counts::executions,    &counts::waiting,      &counts::failures,
        &counts::in_flight,     &counts::begun_calls, &counts::queue_us};
    for (auto const& each : engines_) {
      auto const own = each.runtime->statistics();
      for (auto const member : members) all.*member += own.*member;
    }
    return all;
  }
  /// Counts a call that an ensemble has answered.
  void count(std::int64_t samples) noexcept {
    ++calls_;
    samples_ += samples;
  }

  /// Calls the runtime that has the fewest calls. Throws as embedded_runtime::call.
  [[nodiscard]] tensors call(tensors inputs, std::int64_t samples, std::chrono::microseconds time = {},
                             int priority = 0) {
    auto& own = engines_.size() == 1 ? engines_.front() : least_busy();
    struct end {
      ~end() { --of.calls; }
      engine& of;
    } const ends{own};
    ++own.calls;
    return own.runtime->call(std::move(inputs), samples, time, priority);
  }

 private:
  struct engine {
    explicit engine(std::unique_ptr<serving::embedded_runtime> of) : runtime(std::move(of)) {}
    std::unique_ptr<serving::embedded_runtime> runtime;
    std::atomic<std::int64_t> calls = 0;
  };

  [[nodiscard]] engine& least_busy() {
    auto const first = turn_.fetch_add(1, std::memory_order_relaxed);  // equal ones have their turns
    auto* best = &engines_[first % engines_.size()];
    for (std::size_t i = 1; i < engines_.size(); ++i)
      if (auto& each = engines_[(first + i) % engines_.size()]; each.calls < best->calls) best = &each;
    return *best;
  }

  serving::servable_description known_;
  std::deque<engine> engines_;
  std::atomic<std::size_t> turn_ = 0;
  std::atomic<std::int64_t> calls_ = 0, samples_ = 0;
};

}  // namespace stagecraft::tool
