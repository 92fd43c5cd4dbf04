// SPDX-License-Identifier: BSD-3-Clause
// What a training step reports: the means of its metrics, for each replica.
#pragma once

#include <stagecraft/training/steps/sub_step.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stagecraft::trainers {

/// Means of what one replica's sub-steps report: the step's metrics or, if it has none, the loss of each sub-step.
template <class Step>
class step_values {
  static constexpr auto const& facts = facts_of_step<Step>;
  static constexpr bool has_metrics = facts.metric_count > 0;

 public:
  static constexpr std::size_t count =
      static_cast<std::size_t>(has_metrics ? facts.metric_count : facts.sub_step_count);
  using values_type = std::array<double, count>;

  [[nodiscard]] static std::string name(std::size_t index) {
    if constexpr (has_metrics) return std::string(facts.metrics[index].view());
    std::string text("loss");
    if (index > 0) text.append("_").append(std::to_string(index));
    return text;
  }

  /// Begins new means. A value that no sub-step adds to from now on, see step.every, stays what it has been.
  void begin() {
    last_ = values();
    sums_ = {};
    counts_ = {};
  }
  /// Adds what a micro-batch of sub-step `Number` reports.
  template <std::size_t Number>
  void add(float const* reported) {
    constexpr auto const& own = facts.sub_steps[Number];
    for (int i = 0; i < (has_metrics ? own.metrics : 1); ++i) {
      auto const index = has_metrics ? static_cast<std::size_t>(own.indices[i]) : Number;
      sums_[index] += static_cast<double>(reported[i]);
      ++counts_[index];
    }
  }
  [[nodiscard]] values_type values() const {
    values_type result{};
    for (std::size_t i = 0; i < count; ++i)
      result[i] = counts_[i] > 0 ? sums_[i] / static_cast<double>(counts_[i]) : last_[i];
    return result;
  }
  /// Does nothing: all values are means.
  template <class Of, std::size_t Replicas>
  static void merge_states(Of const&, std::array<values_type, Replicas>&) {}

 private:
  values_type sums_{}, last_{};
  std::array<std::int64_t, count> counts_{};
};

}  // namespace stagecraft::trainers
