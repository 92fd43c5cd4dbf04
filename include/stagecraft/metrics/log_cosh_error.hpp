// SPDX-License-Identifier: BSD-3-Clause
// Mean of the logarithms of the hyperbolic cosines of differences.
// Keras counterpart: tf.keras.metrics.LogCoshError.
#pragma once

#include <stagecraft/losses/log_cosh.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// The loss `log_cosh`.
struct log_cosh_error {
  static constexpr std::string_view name = "logcosh";

  constexpr auto call(auto target, auto output) const { return losses::log_cosh{}.call(target, output); }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(log_cosh_error const&, log_cosh_error const&) = default;
};

}  // namespace stagecraft::metrics
