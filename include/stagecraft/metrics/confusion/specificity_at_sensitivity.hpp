// SPDX-License-Identifier: BSD-3-Clause
// The best specificity that leaves enough sensitivity.
// Keras counterpart: tf.keras.metrics.SpecificityAtSensitivity.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// The largest specificity at a threshold where the sensitivity (recall) is at least `sensitivity`; 0 if there is none.
/// Predictions are probabilities; targets that are not 0 are a yes.
struct specificity_at_sensitivity {
  float sensitivity = 0.5F;  ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "specificity_at_sensitivity";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<specificity_at_sensitivity>({.count = num_thresholds,
                                                                    .spacing = detail::threshold_spacing::even,
                                                                    .class_id = class_id,
                                                                    .value = sensitivity});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.recall(i); },
                                 [&](int i) { return counted.specificity(i); });
  }
};

}  // namespace stagecraft::metrics
