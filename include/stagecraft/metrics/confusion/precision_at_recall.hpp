// SPDX-License-Identifier: BSD-3-Clause
// The best precision that leaves enough recall.
// Keras counterpart: tf.keras.metrics.PrecisionAtRecall.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// The largest precision at a threshold where the recall is at least `recall`; 0 if there is none. Predictions are
/// probabilities; targets that are not 0 are a yes.
struct precision_at_recall {
  float recall = 0.5F;       ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "precision_at_recall";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<precision_at_recall>(
        {.count = num_thresholds, .spacing = detail::threshold_spacing::even, .class_id = class_id, .value = recall});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.recall(i); }, [&](int i) { return counted.precision(i); });
  }
};

}  // namespace stagecraft::metrics
