// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences in percent of the targets.
// Keras counterpart: tf.keras.metrics.MeanAbsolutePercentageError.
#pragma once

#include <stagecraft/losses/mean_absolute_percentage_error.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct mean_absolute_percentage_error : own_metric<mean_absolute_percentage_error> {
  static constexpr std::string_view name = "mean_absolute_percentage_error";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_absolute_percentage_error{}.call(target, output);
  }
};

}  // namespace stagecraft::metrics
