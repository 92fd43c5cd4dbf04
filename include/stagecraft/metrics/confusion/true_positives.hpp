// SPDX-License-Identifier: BSD-3-Clause
// How many positive predictions that are right.
// Keras counterpart: tf.keras.metrics.TruePositives.
#pragma once

#include <stagecraft/metrics/confusion/confusion.hpp>

namespace stagecraft::metrics {

/// The sum of the weights of positive predictions that are right: the numbers of all columns are yes/no predictions,
/// and targets that are not 0 a yes.
struct true_positives {
  number_list thresholds = 0.5F;  ///< predictions above it are positive; of several, the metric is one number for each

  static constexpr std::string_view name = "true_positives";

  constexpr operator metric() const noexcept { return detail::metric_at_thresholds<true_positives>(thresholds); }
  static constexpr double result(detail::confusion const& counted) { return counted.true_positives(); }
};

}  // namespace stagecraft::metrics
