// SPDX-License-Identifier: BSD-3-Clause
// mean_absolute_percentage_error under its short name.
// Keras counterpart: the string "mape" in compile(metrics=...).
#pragma once

#include <stagecraft/metrics/mean_absolute_percentage_error.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// As mean_absolute_percentage_error, but reported as "mape".
struct mape {
  static constexpr std::string_view name = "mape";

  constexpr auto call(auto target, auto output) const { return mean_absolute_percentage_error{}.call(target, output); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(mape const&, mape const&) = default;
};

}  // namespace stagecraft::metrics
