// SPDX-License-Identifier: BSD-3-Clause
// Running means of losses and metrics over the batches of an epoch.
// Keras counterpart: tf.keras.metrics.Mean and the update_state of the metrics; sums are kept in double where Keras
// keeps float32. Level 6.
#pragma once

#include <stagecraft/metrics/metric.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

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

/// One metric's mean over the rows seen since the last reset. It does not allocate.
///
/// Keras's rules: compiled metrics are means over rows and do not see sample weights (pass none), weighted metrics do;
/// rows that only pad a partial batch are left out by the caller. For outputs of higher rank a row is one vector along
/// the last axis.
class metric_state {
 public:
  metric_state() = default;
  /// \param chosen the metric; `accuracy` is resolved here
  /// \param sparse_targets whether targets are class numbers
  /// \param output_width last dimension of the prediction
  metric_state(metrics::metric chosen, bool sparse_targets, int output_width)
      : metric_(metrics::resolve(chosen, sparse_targets, output_width)), width_(output_width) {}

  /// Takes in `rows` rows of predictions and their targets, `output_width` columns each.
  /// \param weights null, or one weight per row, to be multiplied by `factor`
  void update(float const* predictions, float const* targets, int rows, float const* weights = nullptr,
              int factor = 1) noexcept {
    for (int row = 0; row < rows; ++row)
      mean_.add(score(row_of(predictions, row), row_of(targets, row)), weight_of(row, weights, factor));
  }

  /// Takes in `rows` rows of predictions, and one class number per row.
  /// \param weights null, or one weight per row, to be multiplied by `factor`
  void update(float const* predictions, std::int32_t const* labels, int rows, float const* weights = nullptr,
              int factor = 1) noexcept {
    for (int row = 0; row < rows; ++row)
      mean_.add(score(row_of(predictions, row), labels[row]), weight_of(row, weights, factor));
  }

  void reset() noexcept { mean_.reset(); }
  /// The mean so far; 0 when nothing came yet.
  [[nodiscard]] double result() const noexcept { return mean_.result(); }
  /// The metric, with `accuracy` resolved.
  [[nodiscard]] metrics::metric const& resolved() const noexcept { return metric_; }

 private:
  [[nodiscard]] static double weight_of(int row, float const* weights, int factor) noexcept {
    return weights == nullptr ? 1 : weights[row] * static_cast<float>(factor);
  }
  [[nodiscard]] float const* row_of(float const* values, int row) const noexcept {
    return values + static_cast<std::ptrdiff_t>(row) * width_;
  }

  [[nodiscard]] double score(float const* prediction, float const* target) const noexcept {
    using enum metrics::metric_kind;
    switch (metric_.kind) {
      case categorical_accuracy:
      case top_k_categorical_accuracy: return score_class(prediction, detail::first_largest(target, width_));
      case sparse_categorical_accuracy:
      case sparse_top_k_categorical_accuracy: return score_class(prediction, static_cast<int>(target[0]));
      default: {
        double sum = 0;
        for (int i = 0; i < width_; ++i) sum += score_column(prediction[i], target[i]);
        return sum / width_;
      }
    }
  }

  [[nodiscard]] double score(float const* prediction, std::int32_t label) const noexcept {
    using enum metrics::metric_kind;
    switch (metric_.kind) {
      case binary_accuracy:
      case mean_squared_error:
      case mean_absolute_error: return score_column(prediction[0], static_cast<float>(label));  // width 1
      default: return score_class(prediction, label);
    }
  }

  [[nodiscard]] bool score_class(float const* prediction, int label) const noexcept {
    bool const top_k = metric_.kind == metrics::metric_kind::top_k_categorical_accuracy ||
                       metric_.kind == metrics::metric_kind::sparse_top_k_categorical_accuracy;
    return top_k ? detail::is_in_top_k(prediction, width_, label, metric_.k)
                 : detail::is_first_largest(prediction, width_, label);
  }

  [[nodiscard]] float score_column(float prediction, float target) const noexcept {
    if (metric_.kind == metrics::metric_kind::binary_accuracy)
      return (prediction > metric_.threshold ? 1.f : 0.f) == target ? 1.f : 0.f;
    float const difference = prediction - target;
    if (metric_.kind == metrics::metric_kind::mean_squared_error) return difference * difference;
    return difference < 0 ? -difference : difference;
  }

  metrics::metric metric_ = metrics::resolve({}, false, 1);
  int width_ = 1;
  running_mean mean_;
};

}  // namespace stagecraft
