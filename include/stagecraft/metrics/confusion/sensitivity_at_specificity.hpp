// SPDX-License-Identifier: BSD-3-Clause
// The best sensitivity that leaves enough specificity.
// Keras counterpart: tf.keras.metrics.SensitivityAtSpecificity.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// The largest sensitivity (recall) at a threshold where the specificity is at least `specificity`; 0 if there is none.
/// Predictions are probabilities; targets that are not 0 are a yes.
struct sensitivity_at_specificity {
  float specificity = 0.5F;  ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "sensitivity_at_specificity";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<sensitivity_at_specificity>({.count = num_thresholds,
                                                                    .spacing = detail::threshold_spacing::even,
                                                                    .class_id = class_id,
                                                                    .value = specificity});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.specificity(i); },
                                 [&](int i) { return counted.recall(i); });
  }
};

}  // namespace stagecraft::metrics
