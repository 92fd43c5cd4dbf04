// SPDX-License-Identifier: BSD-3-Clause
// The share of right ones among the positive predictions.
// Keras counterpart: tf.keras.metrics.Precision.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// true positives / (true positives + false positives), or 0; targets that are not 0 are a yes.
struct precision {
  /// Predictions above it are positive; without one 0.5, or with `top_k` none. Of several, the metric is one number for
  /// each.
  number_list thresholds = {};
  int top_k = 0;      ///< only the k largest predictions of a row can be positive; 0: all
  int class_id = -1;  ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "precision";

  constexpr operator metric() const noexcept {
    return detail::metric_at_thresholds<precision>(thresholds, top_k, class_id);
  }
  static constexpr double result(detail::confusion const& counted) { return counted.precision(); }
};

}  // namespace stagecraft::metrics
