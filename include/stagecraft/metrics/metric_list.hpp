// SPDX-License-Identifier: BSD-3-Clause
// The metrics of a training description.
// Keras counterpart: the `metrics` argument of compile(). Level 2 of the house.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

template <class Type>
concept Metric = requires(Type const& value, void (*take)(metric)) { take(value); };

namespace detail {

template <class... Given>
inline constexpr diagnostic wrong_metrics_problem = [] {
  diagnostic problem;
  problem.report(4083,
                 "the training's metrics are not at most eight values of metrics' classes; write them as "
                 ".metrics = {sc::metrics::accuracy{}, sc::metrics::mean_squared_error{}}, without texts");
  return problem;
}();

}  // namespace detail

/// Up to eight metrics, in the order in which they are reported. Structural, so that it can be part of a template
/// argument. Made from one metric or from a braced list: `.metrics = accuracy{}` or
/// `.metrics = {accuracy{}, top_k_categorical_accuracy{.k = 3}}`.
struct metric_list {
  static constexpr int capacity = 8;

  metric items[capacity]{};
  int count = 0;

  constexpr metric_list() = default;
  template <Metric... Metrics>
    requires(sizeof...(Metrics) >= 1 && sizeof...(Metrics) <= capacity)
  constexpr metric_list(Metrics const&... list) : items{metric(list)...}, count(sizeof...(Metrics)) {}

  /// Anything else, such as "accuracy": E4083.
  template <class... Given>
    requires(sizeof...(Given) > capacity || (!(Metric<Given> || std::same_as<Given, metric_list>) || ...))
  constexpr metric_list(Given const&...) {
    static_assert(stagecraft::detail::report<detail::wrong_metrics_problem<Given...>>());
  }

  [[nodiscard]] constexpr int size() const noexcept { return count; }
  [[nodiscard]] constexpr metric const& operator[](int index) const { return items[index]; }
  [[nodiscard]] constexpr metric const* begin() const noexcept { return items; }
  [[nodiscard]] constexpr metric const* end() const noexcept { return items + count; }

  friend constexpr bool operator==(metric_list const&, metric_list const&) = default;
};

}  // namespace stagecraft::metrics
