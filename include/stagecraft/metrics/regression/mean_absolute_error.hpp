// SPDX-License-Identifier: BSD-3-Clause
// Mean of the absolute differences.
// Keras counterpart: tf.keras.metrics.MeanAbsoluteError. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/losses/mean_absolute_error.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// mean over the last axis of |prediction - target|; target and prediction (rows, columns).
struct mean_absolute_error : own_metric<mean_absolute_error> {
  static constexpr std::string_view name = "mean_absolute_error";

  constexpr auto call(auto target, auto output) const { return losses::mean_absolute_error{}.call(target, output); }
};

}  // namespace stagecraft::metrics
