// SPDX-License-Identifier: BSD-3-Clause
// What a training step reports: the means of its metrics, for each replica.
#pragma once

#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/graph/array_view.hpp>
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
    for (std::size_t i = 0; i < count; ++i) result[i] = sums_[i] / static_cast<double>(counts_[i]);
    return result;
  }
  /// Does nothing: all values are means.
  template <class Of, std::size_t Replicas>
  static void merge_states(Of const&, std::array<values_type, Replicas>&) {}

 private:
  values_type sums_{};
  std::array<std::int64_t, count> counts_{};
};

/// The samples that a replica takes for a micro-batch, where a step is given its samples one batch after the other: a
/// batch for each replica, then for the next micro-batch.
template <int Batch, int Replicas, int MicroBatches>
struct samples_of_step {
  static constexpr int count = Batch * Replicas * MicroBatches;
  static constexpr auto numbers = [] {
    std::array<std::int32_t, static_cast<std::size_t>(count < 1 ? 1 : count)> result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::int32_t>(i);
    return result;
  }();

  /// Throws data_error E4003 for another number of samples.
  static void check(std::ptrdiff_t found) {
    if (found == count) return;
    if (count == Batch) throw_data_error("E4003", "x: expected %d samples, one batch, found %td", Batch, found);
    throw_data_error("E4003",
                     "x: expected %d samples, a batch of %d for each of %d replicas and %d micro-batches, found %td",
                     count, Batch, Replicas, MicroBatches, found);
  }
  [[nodiscard]] tracing::array_view<std::int32_t const> operator()(int replica, int micro_batch) const {
    return tracing::array_view<std::int32_t const>(numbers).subspan(
        static_cast<std::size_t>((micro_batch * Replicas + replica) * Batch), static_cast<std::size_t>(Batch));
  }
};

}  // namespace stagecraft::trainers
