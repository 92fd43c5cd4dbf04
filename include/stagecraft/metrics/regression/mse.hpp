// SPDX-License-Identifier: BSD-3-Clause
// mean_squared_error under its short name.
// Keras counterpart: the string "mse" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/own_metric.hpp>
#include <stagecraft/metrics/regression/mean_squared_error.hpp>

namespace stagecraft::metrics {

/// `mean_squared_error`, reported as "mse" in logs and history, as Keras reports a metric under the text that asks for
/// it.
struct mse : own_metric<mse> {
  static constexpr std::string_view name = "mse";

  constexpr auto call(auto target, auto output) const { return losses::mean_squared_error{}.call(target, output); }
};

}  // namespace stagecraft::metrics
