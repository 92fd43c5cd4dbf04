// SPDX-License-Identifier: BSD-3-Clause
// Mean of squared differences of logarithms.
// Keras counterpart: tf.keras.metrics.MeanSquaredLogarithmicError.
#pragma once

#include <stagecraft/losses/mean_squared_logarithmic_error.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct mean_squared_logarithmic_error : own_metric<mean_squared_logarithmic_error> {
  static constexpr std::string_view name = "mean_squared_logarithmic_error";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_squared_logarithmic_error{}.call(target, output);
  }
};

}  // namespace stagecraft::metrics
