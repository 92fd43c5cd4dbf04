// SPDX-License-Identifier: BSD-3-Clause
// mean_absolute_error under its short name.
// Keras counterpart: the string "mae" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/own_metric.hpp>
#include <stagecraft/metrics/regression/mean_absolute_error.hpp>

namespace stagecraft::metrics {

/// `mean_absolute_error`, reported as "mae" in logs and history, as Keras reports a metric under the text that asks for
/// it.
struct mae : own_metric<mae> {
  static constexpr std::string_view name = "mae";

  constexpr auto call(auto target, auto output) const { return losses::mean_absolute_error{}.call(target, output); }
};

}  // namespace stagecraft::metrics
