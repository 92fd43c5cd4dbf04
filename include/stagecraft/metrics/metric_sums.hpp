// SPDX-License-Identifier: BSD-3-Clause
// What a metric knows of all rows that it has seen, and how a number is made of it. Keras counterpart: the weights of a
// tf.keras.metrics.Metric, and its `result`.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <string_view>

namespace stagecraft {

/// Sums over the rows of an epoch, each times the row's weight: of each column that the metric's `call` gives.
struct metric_sums {
  tracing::array_view<double const> values;  ///< one for each column; `sums[1]` is that of the second
  double weight = 0;                         ///< the sum of the rows' weights: their number, where they have none

  /// The sum of a column.
  [[nodiscard]] constexpr double operator[](int column) const { return values[column]; }
  /// The mean over the rows; 0 if there are none.
  [[nodiscard]] constexpr double mean(int column) const { return weight != 0 ? (*this)[column] / weight : 0; }
};

namespace metrics {

/// A metric's `result`, with its members.
struct metric_result {
  std::string_view name;  ///< in logs
  double (*call)(diagnostics::own_options const&, metric_sums const&);
};

namespace detail {

/// That of a metric of `call`.
template <class Metric>
struct result_of_own {
  static double call(diagnostics::own_options const& options, metric_sums const& sums) {
    return static_cast<double>(stagecraft::detail::own_from<Metric>(options).result(sums));
  }
  static constexpr metric_result value{Metric::name, &call};
};

/// As Keras divides: 0 where the denominator is.
[[nodiscard]] constexpr double ratio(double a, double b) noexcept { return b != 0 ? a / b : 0; }

}  // namespace detail

}  // namespace metrics

}  // namespace stagecraft
