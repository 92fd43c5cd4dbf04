// SPDX-License-Identifier: BSD-3-Clause
// accuracy under its short name.
// Keras counterpart: the string "acc" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// `accuracy`, reported as "acc" in logs and history, as Keras reports a metric under the text that asks for it.
struct acc {
  static constexpr std::string_view name = "acc";

  constexpr operator metric() const noexcept { return {.kind = metric_kind::accuracy, .has_short_name = true}; }
};

}  // namespace stagecraft::metrics
