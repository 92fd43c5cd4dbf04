// SPDX-License-Identifier: BSD-3-Clause
// Metrics of right classes: accuracy in the sense that fits the targets, or in a given one.
// Keras counterpart: "accuracy" and "acc" in compile(metrics=...), BinaryAccuracy and the like of tf.keras.metrics.
// These are options only; sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

/// The share of right predictions, in the sense that fits the targets. Keras counterpart: the string "accuracy" in
/// compile(metrics=...).
/// As in Keras it is binary accuracy for predictions of width 1, sparse categorical accuracy for class numbers as
/// targets, categorical accuracy else. It is reported as "accuracy" in every case.
struct accuracy {
  static constexpr std::string_view name = "accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::accuracy}; }
};

/// `accuracy`, reported as "acc" in logs and history, as Keras reports a metric under the text that asks for it.
struct acc {
  static constexpr std::string_view name = "acc";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::accuracy, .has_short_name = true}; }
};

/// The share of yes/no predictions that are right. Keras: tf.keras.metrics.BinaryAccuracy.
/// Mean over the last axis of (prediction > threshold) == target; target and prediction (rows, columns).
struct binary_accuracy {
  float threshold = 0.5f;  ///< predictions above it mean 1; use 0 for logits

  static constexpr std::string_view name = "binary_accuracy";

  constexpr auto call(auto target, auto output) const { return equal(output > threshold, target); }
  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(*this);
  }
};

/// The share of samples whose largest prediction is the right class. Keras: tf.keras.metrics.CategoricalAccuracy.
/// argmax(prediction) == argmax(target) over the last axis; target and prediction (rows, classes). The first of equal
/// values is the largest. A row with a NaN in its prediction counts as wrong.
struct categorical_accuracy {
  static constexpr std::string_view name = "categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::categorical_accuracy}; }
};

/// The share of samples whose largest prediction is the right class, for class numbers as targets. Keras:
/// tf.keras.metrics.SparseCategoricalAccuracy.
/// argmax(prediction) == target over the last axis; one class number per row, prediction (rows, classes). The first of
/// equal values is the largest. A row with a NaN in its prediction counts as wrong.
struct sparse_categorical_accuracy {
  static constexpr std::string_view name = "sparse_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::sparse_categorical_accuracy}; }
};

/// The share of samples whose right class is among the k largest predictions. Keras:
/// tf.keras.metrics.TopKCategoricalAccuracy. argmax(target) is among the k largest predictions; target and prediction
/// (rows, classes). Ties as in tf.math.in_top_k: right when fewer than k predictions are strictly larger; a row with a
/// NaN or an infinity is wrong.
struct top_k_categorical_accuracy {
  int k = 5;  ///< the number of predictions that count

  static constexpr std::string_view name = "top_k_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::top_k_categorical_accuracy, .k = k}; }
};

/// The share of samples whose right class is among the k largest predictions, for class numbers as targets. Keras:
/// tf.keras.metrics.SparseTopKCategoricalAccuracy.
/// The target is among the k largest predictions; one class number per row, prediction (rows, classes). Ties as in
/// tf.math.in_top_k: right when fewer than k predictions are strictly larger; a row with a NaN or an infinity is wrong.
struct sparse_top_k_categorical_accuracy {
  int k = 5;  ///< the number of predictions that count

  static constexpr std::string_view name = "sparse_top_k_categorical_accuracy";

  constexpr operator metric() const noexcept {
    return {.kind = metric_kind::sparse_top_k_categorical_accuracy, .k = k};
  }
};

}  // namespace stagecraft::metrics
