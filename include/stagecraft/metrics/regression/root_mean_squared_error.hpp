// SPDX-License-Identifier: BSD-3-Clause
// The root of the mean of squared differences.
// Keras counterpart: tf.keras.metrics.RootMeanSquaredError.
#pragma once

#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// sqrt(mean((prediction - target)^2)) over all rows and columns; target and prediction (rows, columns).
struct root_mean_squared_error : own_metric<root_mean_squared_error> {
  static constexpr std::string_view name = "root_mean_squared_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const { return ops.mean(square(output - target), -1); }
  static double result(metric_sums const& sums) { return __builtin_sqrt(sums.mean(0)); }
};

}  // namespace stagecraft::metrics
