// SPDX-License-Identifier: BSD-3-Clause
// One metric with its options, and Keras's rule for which accuracy `accuracy` is.
// Keras counterpart: tf.keras.metrics and compile_utils. Level 2 of the house: options only, sums are in
// training/metric_state.hpp.
#pragma once

#include <string_view>

namespace stagecraft::metrics {

/// What is measured. Each row of a batch contributes one number, the metric is their mean over an epoch.
enum class metric_kind : unsigned char {
  accuracy,                           ///< one of the three below, see `resolve`
  binary_accuracy,                    ///< share of the columns where (prediction > threshold) == target
  categorical_accuracy,               ///< argmax of the prediction == argmax of the target
  sparse_categorical_accuracy,        ///< argmax of the prediction == target
  top_k_categorical_accuracy,         ///< argmax of the target is among the k largest predictions
  sparse_top_k_categorical_accuracy,  ///< target is among the k largest predictions
  mean_squared_error,                 ///< mean over the columns of (prediction - target)^2
  mean_absolute_error                 ///< mean over the columns of |prediction - target|
};

/// The name that Keras reports in logs, history and the progress bar.
[[nodiscard]] constexpr std::string_view name(metric_kind kind) noexcept {
  switch (kind) {
    case metric_kind::accuracy: return "accuracy";
    case metric_kind::binary_accuracy: return "binary_accuracy";
    case metric_kind::categorical_accuracy: return "categorical_accuracy";
    case metric_kind::sparse_categorical_accuracy: return "sparse_categorical_accuracy";
    case metric_kind::top_k_categorical_accuracy: return "top_k_categorical_accuracy";
    case metric_kind::sparse_top_k_categorical_accuracy: return "sparse_top_k_categorical_accuracy";
    case metric_kind::mean_squared_error: return "mean_squared_error";
    case metric_kind::mean_absolute_error: return "mean_absolute_error";
  }
  return "";
}

/// The same for a metric that was asked for by its short name: Keras reports what is written.
[[nodiscard]] constexpr std::string_view short_name(metric_kind kind) noexcept {
  switch (kind) {
    case metric_kind::accuracy: return "acc";
    case metric_kind::mean_squared_error: return "mse";
    case metric_kind::mean_absolute_error: return "mae";
    default: return name(kind);
  }
}

/// True when targets of this metric are class numbers, one per row.
[[nodiscard]] constexpr bool wants_sparse_targets(metric_kind kind) noexcept {
  return kind == metric_kind::sparse_categorical_accuracy || kind == metric_kind::sparse_top_k_categorical_accuracy;
}

/// Any metric as one structural value. Every options type of this folder converts to it, so that a list of metrics is
/// an array of these (see metric_list.hpp).
struct metric {
  metric_kind kind = metric_kind::accuracy;
  float threshold = 0.5f;       ///< binary accuracy only
  int k = 5;                    ///< top-k accuracies only
  bool has_short_name = false;  ///< it is reported as "acc", "mse" or "mae"

  /// The name in logs: `accuracy` keeps its name whatever it is resolved to, as Keras's "accuracy" string does.
  [[nodiscard]] constexpr std::string_view name() const noexcept {
    return has_short_name ? short_name(kind) : metrics::name(kind);
  }

  friend constexpr bool operator==(metric const&, metric const&) = default;
};

/// Keras's choice for `accuracy`: binary for predictions of width 1, else sparse categorical when the targets are class
/// numbers, else categorical. Every other metric is returned as it is.
/// \param sparse_targets whether targets are class numbers, as the loss's `sparse_targets` says
/// \param output_width last dimension of the prediction
[[nodiscard]] constexpr metric resolve(metric chosen, bool sparse_targets, int output_width) noexcept {
  if (chosen.kind != metric_kind::accuracy) return chosen;
  if (output_width == 1)
    chosen.kind = metric_kind::binary_accuracy;
  else if (sparse_targets)
    chosen.kind = metric_kind::sparse_categorical_accuracy;
  else
    chosen.kind = metric_kind::categorical_accuracy;
  return chosen;
}

/// Whether a metric can be computed from the targets that the loss takes: class numbers cannot be compared column by
/// column with a prediction wider than 1, and a row of target values is no class number. For compile-time checks.
[[nodiscard]] constexpr bool fits_targets(metric chosen, bool sparse_targets, int output_width) noexcept {
  auto const kind = resolve(chosen, sparse_targets, output_width).kind;
  return output_width == 1 || wants_sparse_targets(kind) == sparse_targets;
}

}  // namespace stagecraft::metrics
