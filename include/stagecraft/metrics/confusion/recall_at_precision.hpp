// SPDX-License-Identifier: BSD-3-Clause
// The best recall that leaves enough precision.
// Keras counterpart: tf.keras.metrics.RecallAtPrecision.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// The largest recall at a threshold where the precision is at least `precision`; 0 if there is none. Predictions are
/// probabilities; targets that are not 0 are a yes.
struct recall_at_precision {
  float precision = 0.5F;    ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "recall_at_precision";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<recall_at_precision>({.count = num_thresholds,
                                                             .spacing = detail::threshold_spacing::even,
                                                             .class_id = class_id,
                                                             .value = precision});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.precision(i); }, [&](int i) { return counted.recall(i); });
  }
};

}  // namespace stagecraft::metrics
