// SPDX-License-Identifier: BSD-3-Clause
// The scores of rows in metrics that are means over rows. Keras counterpart: the update_state of the metrics.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss_elementwise.hpp>
#include <stagecraft/losses/along_axis.hpp>
#include <stagecraft/metrics/metric_plan.hpp>
#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace stagecraft::trainers {

/// True for numbers that are neither infinite nor NaN, without <cmath>.
[[nodiscard]] inline bool is_finite(float value) noexcept { return value - value == 0; }

/// tf.math.argmax of a row: the first largest number. It is never a NaN; it is the first column if all numbers are NaN
/// or -infinity.
[[nodiscard]] inline int first_largest(float const* values, int width) noexcept {
  int best = 0;
  float largest = std::numeric_limits<float>::lowest();
  for (int i = 0; i < width; ++i)
    if (values[i] > largest) {
      largest = values[i];
      best = i;
    }
  return best;
}

/// True if column `label` is the first largest number. Counts the columns that are larger, which needs no branch and no
/// chain of maxima.
[[nodiscard]] inline bool is_first_largest(float const* values, int width, int label) noexcept {
  if (label < 0 || label >= width) return false;
  float const value = values[label];
  if (!(value > std::numeric_limits<float>::lowest())) return first_largest(values, width) == label;
  int against = 0;
  for (int i = 0; i < label; ++i) against += values[i] >= value;
  for (int i = label; i < width; ++i) against += values[i] > value;
  return against == 0;
}

/// tf.math.in_top_k for one row.
[[nodiscard]] inline bool is_in_top_k(float const* values, int width, int label, int k) noexcept {
  if (label < 0 || label >= width) return false;
  float const value = values[label];
  int larger = 0;
  int not_finite = 0;
  for (int i = 0; i < width; ++i) {
    larger += values[i] > value;
    not_finite += !is_finite(values[i]);
  }
  return not_finite == 0 && larger < k;
}

/// The mean of the rows' scores.
template <metrics::metric Metric, int Width, shape Sample = shape{}>
struct mean_of_scores {
  static constexpr std::size_t size = 1;

  template <class Target>
  static void add(float const* prediction, Target const* target, double weight,
                  tracing::array_view<double> sums) noexcept {
    sums[0] += score(prediction, target) * weight;
  }
  [[nodiscard]] static double result(metric_sums const& sums) { return sums.mean(0); }

 private:
  template <class Target>
  [[nodiscard]] static double score(float const* prediction, Target const* target) noexcept {
    using enum metrics::metric_kind;
    constexpr bool sparse = !std::is_same_v<Target, float>;
    if constexpr (Metric.kind == call) {
      using row = kernels::loss_row<call_of_row<sparse>(), Width, kernels::default_architecture>;
      if constexpr (sparse) {
        std::array<float, static_cast<std::size_t>(target_columns_of(call_of_row<true>(), Width))> labels;
        for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(target[i]);
        return static_cast<double>(row::evaluate(labels.data(), prediction, 1, nullptr));
      } else {
        return static_cast<double>(row::evaluate(target, prediction, 1, nullptr));
      }
    } else if constexpr (Metric.kind == categorical_accuracy || Metric.kind == top_k_categorical_accuracy) {
      return score_class(prediction, sparse ? static_cast<int>(*target) : first_of(target));
    } else {
      return score_class(prediction, static_cast<int>(*target));
    }
  }
  template <bool Sparse>
  [[nodiscard]] static constexpr auto call_of_row() {
    using call = metrics::metric_call<Metric, Sparse>;
    if constexpr (Sample.rank() > 0)
      return losses::detail::along_axis(call{}, Sample, Metric.along - 1);
    else
      return call{};
  }
  template <class Target>
  [[nodiscard]] static int first_of(Target const* target) noexcept {
    if constexpr (std::is_same_v<Target, float>)
      return first_largest(target, Width);
    else
      return 0;
  }

  [[nodiscard]] static bool score_class(float const* prediction, int label) noexcept {
    using enum metrics::metric_kind;
    if constexpr (Metric.kind == top_k_categorical_accuracy || Metric.kind == sparse_top_k_categorical_accuracy)
      return is_in_top_k(prediction, Width, label, Metric.k);
    else
      return is_first_largest(prediction, Width, label);
  }
};

}  // namespace stagecraft::trainers
