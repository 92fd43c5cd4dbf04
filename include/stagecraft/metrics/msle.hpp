// SPDX-License-Identifier: BSD-3-Clause
// mean_squared_logarithmic_error under its short name.
// Keras counterpart: the string "msle" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/mean_squared_logarithmic_error.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// As mean_squared_logarithmic_error, but reported as "msle".
struct msle {
  static constexpr std::string_view name = "msle";

  constexpr auto call(auto target, auto output) const { return mean_squared_logarithmic_error{}.call(target, output); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(msle const&, msle const&) = default;
};

}  // namespace stagecraft::metrics
