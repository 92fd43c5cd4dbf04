// SPDX-License-Identifier: BSD-3-Clause
// How often a yes/no prediction is right.
// Keras counterpart: tf.keras.metrics.BinaryAccuracy. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

/// Mean over the last axis of (prediction > threshold) == target; target and prediction (rows, columns).
struct binary_accuracy {
  float threshold = 0.5f;  ///< predictions above it mean 1; use 0 for logits

  static constexpr std::string_view name = "binary_accuracy";

  constexpr auto call(auto target, auto output) const { return equal(output > threshold, target); }
  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(*this);
  }
};

}  // namespace stagecraft::metrics
