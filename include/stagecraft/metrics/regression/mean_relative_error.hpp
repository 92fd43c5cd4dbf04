// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences in parts of a number.
// Keras counterpart: tf.keras.metrics.MeanRelativeError.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// mean over the last axis of |prediction - target| / normalizer, or 0 if that is 0; target and prediction (rows,
/// columns).
struct mean_relative_error {
  /// By what differences are divided. In Keras a tensor; here one number for all columns.
  float normalizer = 1;

  static constexpr std::string_view name = "mean_relative_error";

  constexpr auto call(auto target, auto output) const {
    return abs(output - target) * (normalizer != 0 ? 1 / normalizer : 0.0F);
  }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }
};

}  // namespace stagecraft::metrics
