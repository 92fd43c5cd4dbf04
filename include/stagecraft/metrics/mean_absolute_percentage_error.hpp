// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences in percent of the targets.
// Keras counterpart: tf.keras.metrics.MeanAbsolutePercentageError.
#pragma once

#include <stagecraft/losses/mean_absolute_percentage_error.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <string_view>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct mean_absolute_percentage_error {
  static constexpr std::string_view name = "mean_absolute_percentage_error";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_absolute_percentage_error{}.call(target, output);
  }
  constexpr operator metric() const noexcept { return stagecraft::detail::option_of_own<metric>(*this); }

  friend constexpr bool operator==(mean_absolute_percentage_error const&,
                                   mean_absolute_percentage_error const&) = default;
};

}  // namespace stagecraft::metrics
