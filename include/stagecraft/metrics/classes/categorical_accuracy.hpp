// SPDX-License-Identifier: BSD-3-Clause
// How often the largest prediction is the right class.
// Keras counterpart: tf.keras.metrics.CategoricalAccuracy. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// argmax(prediction) == argmax(target) over the last axis; target and prediction (rows, classes). The first of equal
/// values is the largest. A row with a NaN in its prediction counts as wrong.
struct categorical_accuracy {
  static constexpr std::string_view name = "categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::categorical_accuracy}; }
};

}  // namespace stagecraft::metrics
