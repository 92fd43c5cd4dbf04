// SPDX-License-Identifier: BSD-3-Clause
// mean_absolute_percentage_error under its short name.
// Keras counterpart: the string "mape" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/regression/mean_absolute_percentage_error.hpp>

namespace stagecraft::metrics {

/// As mean_absolute_percentage_error, but reported as "mape".
struct mape : own_metric<mape> {
  static constexpr std::string_view name = "mape";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_absolute_percentage_error{}.call(target, output);
  }
};

}  // namespace stagecraft::metrics
