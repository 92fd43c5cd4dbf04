// SPDX-License-Identifier: BSD-3-Clause
// mean_squared_logarithmic_error under its short name.
// Keras counterpart: the string "msle" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/regression/mean_squared_logarithmic_error.hpp>

namespace stagecraft::metrics {

/// As mean_squared_logarithmic_error, but reported as "msle".
struct msle : own_metric<msle> {
  static constexpr std::string_view name = "msle";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_squared_logarithmic_error{}.call(target, output);
  }
};

}  // namespace stagecraft::metrics
