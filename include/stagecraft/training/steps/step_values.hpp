// SPDX-License-Identifier: BSD-3-Clause
// What a training step reports: the values of its metrics, for each replica.
#pragma once

#include <stagecraft/training/metric_state.hpp>
#include <stagecraft/training/steps/step_facts.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

namespace stagecraft::trainers {

/// The numbers of some metrics among those of a step or a test: `count` of `indices`.
struct metric_indices {
  int count = 0;
  int indices[operations::traced_step::most]{};
};
template <auto const& Facts>
inline constexpr metric_indices all_metrics_of = [] {
  metric_indices all{.count = Facts.metric_count};
  for (int i = 0; i < all.count; ++i) all.indices[i] = i;
  return all;
}();

/// The sums of a metric's columns.
template <operations::traced_step::metric const& Metric>
class sums_of_metric {
 public:
  void add(float const* reported, std::ptrdiff_t, int) noexcept {
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += static_cast<double>(reported[i]);
    ++batches_;
  }
  [[nodiscard]] double result() const { return Metric.of_sums(sums_.data(), batches_); }

 private:
  std::array<double, static_cast<std::size_t>(Metric.columns)> sums_{};
  std::int64_t batches_ = 0;
};
/// The state of a metric of counts, which takes the values of all rows.
template <operations::traced_step::metric const& Metric>
class state_of_metric {
  static constexpr int width = Metric.width, stride_of_row = Metric.reported() / Metric.rows;
  static constexpr metrics::metric of = Metric.of;

 public:
  void add(float const* reported, std::ptrdiff_t stride, int batch) noexcept {
    for (int sample = 0; sample < batch; ++sample, reported += stride)
      for (int row = 0; row < Metric.rows; ++row) {
        float const* const values = reported + std::ptrdiff_t{row} * stride_of_row;
        if constexpr (Metric.has_classes) {
          auto const target = static_cast<std::int32_t>(values[width]);
          state_.update(values, &target, 1);
        } else {
          state_.update(values, values + width, 1);
        }
      }
  }
  [[nodiscard]] double result() const { return state_.result(); }

 private:
  metric_state<of, Metric.has_classes, width> state_;
};

template <auto const& Facts, std::size_t Index>
inline constexpr operations::traced_step::metric metric_of_facts = Facts.metrics[Index];
template <auto const& Facts, std::size_t Index>
constexpr auto total_of_metric() {
  constexpr auto const& metric = metric_of_facts<Facts, Index>;
  if constexpr (metric.keeps_rows)
    return state_of_metric<metric_of_facts<Facts, Index>>{};
  else
    return sums_of_metric<metric_of_facts<Facts, Index>>{};
}
/// The metrics of a step or a test since they began.
template <auto const& Facts>
class reported_metrics_of {
 public:
  /// Adds a batch, whose samples report these metrics.
  template <metric_indices const& Those>
  void add(float const* reported, int batch) noexcept {
    constexpr std::ptrdiff_t stride = [] {
      std::ptrdiff_t sum = 0;
      for (int i = 0; i < Those.count; ++i) sum += Facts.metrics[Those.indices[i]].reported();
      return sum;
    }();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (
          [&] {
            constexpr auto index = static_cast<std::size_t>(Those.indices[I]);
            std::get<index>(totals_).add(reported, stride, batch);
            seen_[index] = true;
            reported += Facts.metrics[index].reported();
          }(),
          ...);
    }(std::make_index_sequence<static_cast<std::size_t>(Those.count)>{});
  }
  /// Writes the metrics that have been added to.
  void write(std::array<double, static_cast<std::size_t>(Facts.metric_count)>& to) const {
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((seen_[Index] ? static_cast<void>(to[Index] = std::get<Index>(totals_).result()) : void()), ...);
    }(std::make_index_sequence<static_cast<std::size_t>(Facts.metric_count)>{});
  }

 private:
  template <std::size_t... Index>
  static auto totals(std::index_sequence<Index...>) -> std::tuple<decltype(total_of_metric<Facts, Index>())...>;

  decltype(totals(std::make_index_sequence<static_cast<std::size_t>(Facts.metric_count)>{})) totals_;
  std::array<bool, operations::traced_step::most> seen_{};
};

/// The facts of a step for its losses, where it reports no metrics: one for each sub-step.
template <class Step>
struct reported_facts {
  int metric_count = facts_of_step<Step>.metric_count;
  operations::traced_step::metric metrics[step_facts::most]{};

  constexpr reported_facts() {
    for (int i = 0; i < metric_count; ++i) metrics[i] = facts_of_step<Step>.metrics[i];
    if (metric_count == 0) metric_count = facts_of_step<Step>.sub_step_count;
  }
};
template <class Step>
inline constexpr reported_facts<Step> facts_of_reports;
/// The values that a sub-step reports.
template <class Step, std::size_t Number>
inline constexpr metric_indices metrics_of_sub_step = [] {
  constexpr auto const& own = facts_of_step<Step>.sub_steps[Number];
  metric_indices result{.count = 1, .indices = {static_cast<int>(Number)}};
  if (facts_of_step<Step>.metric_count > 0) {
    result.count = own.metrics;
    for (int i = 0; i < own.metrics; ++i) result.indices[i] = own.indices[i];
  }
  return result;
}();

/// The values that one replica's sub-steps report: the step's metrics or, if it has none, the loss of each sub-step.
template <class Step>
class step_values {
  static constexpr auto const& facts = facts_of_step<Step>;

 public:
  static constexpr auto count = static_cast<std::size_t>(facts_of_reports<Step>.metric_count);
  using values_type = std::array<double, count>;

  [[nodiscard]] static std::string name(std::size_t index) {
    if constexpr (facts.metric_count > 0) return std::string(facts.metrics[index].name.view());
    std::string text("loss");
    if (index > 0) text.append("_").append(std::to_string(index));
    return text;
  }

  /// Begins anew. A value that no sub-step adds to from now on, see step.every, stays what it has been.
  void begin() {
    last_ = values();
    totals_ = {};
  }
  /// Adds what a micro-batch of sub-step `Number` reports.
  template <std::size_t Number>
  void add(float const* reported, int batch) {
    totals_.template add<metrics_of_sub_step<Step, Number>>(reported, batch);
  }
  [[nodiscard]] values_type values() const {
    values_type result = last_;
    totals_.write(result);
    return result;
  }
  /// Begins with what values have been before the trainer was made.
  void continue_from(values_type const& last) {
    begin();
    last_ = last;
  }
  /// Does nothing: replicas have values of their own.
  template <class Of, std::size_t Replicas>
  static void merge_states(Of const&, std::array<values_type, Replicas>&) {}

 private:
  values_type last_{};
  reported_metrics_of<facts_of_reports<Step>> totals_;
};

}  // namespace stagecraft::trainers
