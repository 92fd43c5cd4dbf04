// SPDX-License-Identifier: BSD-3-Clause
// Running means of losses and metrics over the batches of an epoch.
// Keras counterpart: tf.keras.metrics.Mean and the update_state of the metrics; sums are kept in double where Keras
// keeps float32.
#pragma once

#include <stagecraft/description/output_masks.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/kernels/loss/loss_elementwise.hpp>
#include <stagecraft/metrics/metric_call.hpp>
#include <stagecraft/metrics/resolve.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace stagecraft {

/// A weighted mean that grows. The mean of nothing is 0, as in Keras.
class running_mean {
 public:
  void add(double value, double weight = 1) noexcept {
    sum_ += value * weight;
    weight_ += weight;
  }
  void reset() noexcept { sum_ = weight_ = 0; }
  [[nodiscard]] double result() const noexcept { return weight_ != 0 ? sum_ / weight_ : 0; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

namespace detail {

/// True for numbers that are neither infinite nor NaN, without <cmath>.
[[nodiscard]] inline bool is_finite(float value) noexcept { return value - value == 0; }

/// tf.math.argmax of a row: the first largest. NaN is never it, and the first column is if no number is finite or more.
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

/// Whether column `label` is the first largest. Counts what speaks against it, which needs no branch and no chain of
/// maxima.
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

}  // namespace detail

/// One metric's mean over the rows seen since the last reset; `accuracy` is resolved. It does not allocate.
///
/// Keras's rules: compiled metrics are means over rows and do not see sample weights (pass none), weighted metrics do;
/// rows that only pad a partial batch are left out by the caller. For outputs of higher rank a row is one vector along
/// the last axis, which has `Width` columns.
template <metrics::metric Metric, bool SparseTargets, int Width>
class metric_state {
 public:
  /// The metric, with `accuracy` resolved.
  static constexpr metrics::metric resolved = metrics::resolve(Metric, SparseTargets, Width);

  /// Takes in `rows` rows of predictions and their targets: `Width` columns each, or one class number.
  /// \param weights null, or one weight per row, to be multiplied by `factor`
  template <class Target>
  void update(float const* predictions, Target const* targets, int rows, float const* weights = nullptr,
              int factor = 1) noexcept {
    add(predictions, targets, rows,
        [&](int row) { return weights == nullptr ? 1.0F : weights[row] * static_cast<float>(factor); });
  }
  /// The same without weights, but for rows of masked steps, which `weights` tells: they do not count.
  template <class Target>
  void update_unmasked(float const* predictions, Target const* targets, int rows, float const* weights) noexcept {
    add(predictions, targets, rows, [&](int row) { return detail::is_masked(weights[row]) ? 0.0F : 1.0F; });
  }

  void reset() noexcept { mean_.reset(); }
  /// The mean so far; 0 when nothing came yet.
  [[nodiscard]] double result() const noexcept { return mean_.result(); }

 private:
  template <class Target, class Weight>
  void add(float const* predictions, Target const* targets, int rows, Weight const& weight) noexcept {
    constexpr int target_width = std::is_same_v<Target, float> ? Width : 1;
    for (int row = 0; row < rows; ++row)
      mean_.add(score(predictions + std::ptrdiff_t{row} * Width, targets + std::ptrdiff_t{row} * target_width),
                weight(row));
  }
  template <class Target>
  [[nodiscard]] static double score(float const* prediction, Target const* target) noexcept {
    using enum metrics::metric_kind;
    constexpr bool sparse = !std::is_same_v<Target, float>;
    if constexpr (resolved.kind == call) {
      using row = kernels::loss_row<metrics::metric_call<resolved, sparse>{}, Width, kernels::default_architecture>;
      if constexpr (sparse) {
        auto const label = static_cast<float>(*target);
        return row::evaluate(&label, prediction, 1, nullptr);
      } else {
        return row::evaluate(target, prediction, 1, nullptr);
      }
    } else if constexpr (resolved.kind == categorical_accuracy || resolved.kind == top_k_categorical_accuracy) {
      return score_class(prediction, sparse ? static_cast<int>(*target) : first_of(target));
    } else {
      return score_class(prediction, static_cast<int>(*target));
    }
  }
  template <class Target>
  [[nodiscard]] static int first_of(Target const* target) noexcept {
    if constexpr (std::is_same_v<Target, float>)
      return detail::first_largest(target, Width);
    else
      return 0;
  }

  [[nodiscard]] static bool score_class(float const* prediction, int label) noexcept {
    using enum metrics::metric_kind;
    if constexpr (resolved.kind == top_k_categorical_accuracy || resolved.kind == sparse_top_k_categorical_accuracy)
      return detail::is_in_top_k(prediction, Width, label, resolved.k);
    else
      return detail::is_first_largest(prediction, Width, label);
  }

  running_mean mean_;
};

}  // namespace stagecraft
