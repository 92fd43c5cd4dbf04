// SPDX-License-Identifier: BSD-3-Clause
// Mean of the squared differences.
// Keras counterpart: tf.keras.metrics.MeanSquaredError. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>

#include <string_view>

namespace stagecraft::metrics {

/// mean over the last axis of (prediction - target)^2; target and prediction (rows, columns).
struct mean_squared_error {
  static constexpr std::string_view name = "mean_squared_error";

  constexpr auto call(auto target, auto output) const { return square(output - target); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(mean_squared_error const&, mean_squared_error const&) = default;
};

}  // namespace stagecraft::metrics
