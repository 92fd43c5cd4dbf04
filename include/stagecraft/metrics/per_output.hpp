// SPDX-License-Identifier: BSD-3-Clause
// Metrics for each output of a model.
// Keras counterpart: the dictionary or the list of lists that compile() takes as `metrics`.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/metrics/metric_list.hpp>
#include <concepts>

namespace stagecraft::metrics {

/// An argument of `per_output`: one metric of an output, several in braces, or none (`{}`), with or without the
/// output's name in front of them.
struct output_metrics {
  fixed_name output;
  metric_list list;
  bool is_given = true;

  constexpr output_metrics() = default;
  template <Metric... Metrics>
    requires(sizeof...(Metrics) >= 1 && sizeof...(Metrics) <= metric_list::capacity)
  constexpr output_metrics(Metrics const&... metric) : list(metric...) {}
  constexpr output_metrics(char const* name, metric_list const& metrics) : output(name), list(metrics) {}

  /// A text alone, or anything else: E4083.
  template <class Given>
    requires(!Metric<Given> && !std::same_as<Given, output_metrics>)
  constexpr output_metrics(Given const&) {
    static_assert(stagecraft::detail::report<detail::wrong_metrics_problem<Given>>());
  }

  /// An output without an argument.
  static constexpr output_metrics nothing() {
    output_metrics result;
    result.is_given = false;
    return result;
  }
};

/// Metrics for each output of a model: Keras's `{"digit": ["accuracy"], "weight": ["mse", "mae"]}`,
///
///     .metrics = sc::metrics::per_output({"digit", accuracy{}}, {"weight", {mse{}, mae{}}})
///
/// where outputs that are not named have no metrics; or in the order of the outputs, Keras's `[["accuracy"], ["mse",
/// "mae"]]`,
///
///     .metrics = sc::metrics::per_output(accuracy{}, {mse{}, mae{}})
///
/// where `{}` says that an output has none. At most eight outputs and sixteen metrics. Outputs have the names that logs
/// have: those of their layers, or output_1, output_2 and so on of a model subclass.
/// Errors: E4026 number of entries; E4027 an output that the model does not have; E4083 anything but metrics.
constexpr metric_list per_output(output_metrics const& first, output_metrics const& second = output_metrics::nothing(),
                                 output_metrics const& third = output_metrics::nothing(),
                                 output_metrics const& fourth = output_metrics::nothing(),
                                 output_metrics const& fifth = output_metrics::nothing(),
                                 output_metrics const& sixth = output_metrics::nothing(),
                                 output_metrics const& seventh = output_metrics::nothing(),
                                 output_metrics const& eighth = output_metrics::nothing()) {
  metric_list result;
  output_metrics const* const all[]{&first, &second, &third, &fourth, &fifth, &sixth, &seventh, &eighth};
  for (auto const* const each : all) {
    if (!each->is_given) break;
    for (auto const& metric : each->list) result.append(metric, result.entries);
    result.is_too_long |= each->list.is_too_long;
    result.outputs[result.entries++] = each->output;
  }
  return result;
}

}  // namespace stagecraft::metrics
