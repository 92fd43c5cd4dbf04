// SPDX-License-Identifier: BSD-3-Clause
// How often the largest prediction is the right class, for class numbers as targets.
// Keras counterpart: tf.keras.metrics.SparseCategoricalAccuracy. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// argmax(prediction) == target over the last axis; one class number per row, prediction (rows, classes). The first of
/// equal values is the largest. A row with a NaN in its prediction counts as wrong.
struct sparse_categorical_accuracy {
  static constexpr std::string_view name = "sparse_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::sparse_categorical_accuracy}; }
};

}  // namespace stagecraft::metrics
