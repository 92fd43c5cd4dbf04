// SPDX-License-Identifier: BSD-3-Clause
// Mean of the squared differences.
// Keras counterpart: tf.keras.metrics.MeanSquaredError. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/losses/mean_squared_error.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// mean over the last axis of (prediction - target)^2; target and prediction (rows, columns).
struct mean_squared_error : own_metric<mean_squared_error> {
  static constexpr std::string_view name = "mean_squared_error";

  constexpr auto call(auto target, auto output) const { return losses::mean_squared_error{}.call(target, output); }
};

}  // namespace stagecraft::metrics
