// SPDX-License-Identifier: BSD-3-Clause
// The metrics of a training description.
// Keras counterpart: the arguments `metrics` and `weighted_metrics` of compile().
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::metrics {

/// A value that `metrics` of a training takes: of a class of `sc::metrics`, or a metric of your own.
template <class Type>
concept Metric = requires(Type const& value, void (*take)(metric)) { take(value); };

namespace detail {

template <class... Given>
inline constexpr diagnostics::diagnostic wrong_metrics_problem = [] {
  diagnostics::diagnostic problem;
  problem.report(4083,
                 "the training's metrics are not at most sixteen values of metrics' classes; write them as "
                 ".metrics = {sc::metrics::accuracy{}, sc::metrics::mean_squared_error{}}, without texts");
  return problem;
}();

}  // namespace detail

/// Up to sixteen metrics in their order. The type is structural, so that it can be part of a template argument. A list
/// is made from one metric or from a braced list: `.metrics = accuracy{}` or `.metrics = {accuracy{},
/// top_k_categorical_accuracy{.k = 3}}`; or by `per_output`, for each output its own.
struct metric_list {
  static constexpr int capacity = 16;
  /// Most outputs that `per_output` takes.
  static constexpr int entry_capacity = 8;

  // Unused items are zero and never written, so that compilers leave them out of long names and messages.
  metric items[capacity]{};
  int count = 0;
  int entries = 0;                       ///< entries of `per_output`; 0: every output has all metrics
  unsigned char entry_of[capacity]{};    ///< the entry of each metric, if there are entries
  fixed_name outputs[entry_capacity]{};  ///< the output's name of each entry; empty: the output at the entry's place
  bool is_too_long = false;              ///< E4083 where it meets a model

  constexpr metric_list() = default;
  template <Metric... Metrics>
    requires(sizeof...(Metrics) >= 1 && sizeof...(Metrics) <= capacity)
  constexpr metric_list(Metrics const&... list) {
    (append(list), ...);
  }

  /// Anything else, such as "accuracy": E4083.
  template <class... Given>
    requires(sizeof...(Given) > capacity || (!(Metric<Given> || std::same_as<Given, metric_list>) || ...))
  constexpr metric_list(Given const&...) {
    static_assert(stagecraft::detail::report<detail::wrong_metrics_problem<Given...>>());
  }

  /// True if an output has the metric at `index`.
  [[nodiscard]] constexpr bool is_of(int index, int output, std::string_view output_name) const {
    if (entries == 0) return true;
    int const entry = entry_of[index];
    return outputs[entry].empty() ? entry == output : outputs[entry] == output_name;
  }

  [[nodiscard]] constexpr int size() const noexcept { return count; }
  [[nodiscard]] constexpr metric const& operator[](int index) const { return items[index]; }
  [[nodiscard]] constexpr metric const* begin() const noexcept { return items; }
  [[nodiscard]] constexpr metric const* end() const noexcept { return items + count; }

  friend constexpr bool operator==(metric_list const&, metric_list const&) = default;

  /// Adds a metric of entry `entry`, as `per_output` does.
  constexpr void append(metric const& more, int entry = 0) {
    if (count == capacity) {
      is_too_long = true;
      return;
    }
    entry_of[count] = static_cast<unsigned char>(entry);
    items[count++] = more;
  }
};

}  // namespace stagecraft::metrics
