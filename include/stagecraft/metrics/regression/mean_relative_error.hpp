// SPDX-License-Identifier: BSD-3-Clause
// Mean of absolute differences in parts of a number.
// Keras counterpart: tf.keras.metrics.MeanRelativeError.
#pragma once

#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

namespace detail {

/// With one number for all columns, which is multiplied with.
struct mean_relative_error {
  static constexpr std::string_view name = "mean_relative_error";
  float factor = 1;

  constexpr auto call(auto target, auto output) const { return abs(output - target) * factor; }
};
/// With one for each, which are the metric's `numbers`.
struct mean_relative_errors {
  static constexpr std::string_view name = "mean_relative_error";

  constexpr auto call(auto& /*ops*/, auto target, auto output) const { return abs(output - target); }
};

}  // namespace detail

/// mean over the last axis of |prediction - target| / normalizer, or 0 if that is 0; target and prediction (rows,
/// columns).
struct mean_relative_error {
  /// By what differences are divided: one number, or one for each column, of which there are up to 32; none,
  /// or more, are E1102.
  number_list normalizer = 1;

  static constexpr std::string_view name = "mean_relative_error";

  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    using stagecraft::detail::option_of_own;
    auto const factor = [](float divisor) { return divisor != 0 ? 1 / divisor : 0.0F; };
    if (normalizer.count == 1) return option_of_own<Metric>(detail::mean_relative_error{factor(normalizer.numbers[0])});
    metric result = option_of_own<Metric>(detail::mean_relative_errors{});
    result.scales_columns = true;
    for (float const divisor : normalizer) result.numbers.append(factor(divisor));
    result.numbers.count = normalizer.count;
    return result;
  }
};

}  // namespace stagecraft::metrics
