// SPDX-License-Identifier: BSD-3-Clause
// How often the right class is among the k largest predictions.
// Keras counterpart: tf.keras.metrics.TopKCategoricalAccuracy. Options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// argmax(target) is among the k largest predictions; target and prediction (rows, classes). Ties as in
/// tf.math.in_top_k: right when fewer than k predictions are strictly larger; a row with a NaN or an infinity is wrong.
struct top_k_categorical_accuracy {
  int k = 5;  ///< how many predictions count

  static constexpr std::string_view name = "top_k_categorical_accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::top_k_categorical_accuracy, .k = k}; }
};

}  // namespace stagecraft::metrics
