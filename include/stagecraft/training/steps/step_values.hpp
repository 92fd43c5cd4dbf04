// SPDX-License-Identifier: BSD-3-Clause
// What a training step reports: the values of its metrics, for each replica.
#pragma once

#include <stagecraft/training/steps/sub_step.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stagecraft::trainers {

/// What one replica's sub-steps report: the step's metrics or, if it has none, the loss of each sub-step.
template <class Step>
class step_values {
  static constexpr auto const& facts = facts_of_step<Step>;
  static constexpr bool has_metrics = facts.metric_count > 0;

 public:
  static constexpr std::size_t count =
      static_cast<std::size_t>(has_metrics ? facts.metric_count : facts.sub_step_count);
  using values_type = std::array<double, count>;

  [[nodiscard]] static std::string name(std::size_t index) {
    if constexpr (has_metrics) return std::string(facts.metrics[index].name.view());
    std::string text("loss");
    if (index > 0) text.append("_").append(std::to_string(index));
    return text;
  }

  /// Begins anew. A value that no sub-step adds to from now on, see step.every, stays what it has been.
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
      for (std::size_t column = first_columns[index]; column < first_columns[index + 1]; ++column)
        sums_[column] += static_cast<double>(*reported++);
      ++counts_[index];
    }
  }
  [[nodiscard]] values_type values() const {
    values_type result = last_;
    for (std::size_t i = 0; i < count; ++i)
      if (counts_[i] > 0) result[i] = of_value(i).of_sums(&sums_[first_columns[i]], counts_[i]);
    return result;
  }
  /// Does nothing: replicas have values of their own.
  template <class Of, std::size_t Replicas>
  static void merge_states(Of const&, std::array<values_type, Replicas>&) {}

 private:
  static constexpr operations::traced_step::metric of_value(std::size_t index) {
    return has_metrics ? facts.metrics[index] : operations::traced_step::metric{};
  }
  /// The first column of each value among those of all, and their number.
  static constexpr auto first_columns = [] {
    std::array<std::size_t, count + 1> result{};
    for (std::size_t i = 0; i < count; ++i) result[i + 1] = result[i] + static_cast<std::size_t>(of_value(i).columns);
    return result;
  }();

  values_type last_{};
  std::array<double, first_columns[count]> sums_{};
  std::array<std::int64_t, count> counts_{};
};

}  // namespace stagecraft::trainers
