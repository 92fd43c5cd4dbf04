// SPDX-License-Identifier: BSD-3-Clause
// The share of right predictions, in the sense that fits the targets.
// Keras counterpart: the string "accuracy" in compile(metrics=...). Options only, sums are in
// training/metric_state.hpp.
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// Resolved as Keras does: binary accuracy for predictions of width 1, sparse categorical accuracy for class numbers as
/// targets, categorical accuracy else. Reported as "accuracy" in every case.
struct accuracy {
  static constexpr std::string_view name = "accuracy";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::accuracy}; }
};

}  // namespace stagecraft::metrics
