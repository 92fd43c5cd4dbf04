// SPDX-License-Identifier: BSD-3-Clause
// A metric as a value, and the base of metrics of one's own.
// Keras counterpart: tf.keras.metrics.Metric, its weights and its `result`.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <stagecraft/diagnostics/text.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// Sums over the rows of an epoch, each times the row's weight, for each column that the metric's `call` returns. Keras
/// counterpart: the weights of a tf.keras.metrics.Metric.
struct metric_sums {
  tracing::array_view<double const> values;  ///< a sum for each column; `sums[1]` is that of the second
  double weight = 0;                         ///< the sum of the rows' weights; the number of rows if they have none

  /// The sum of a column.
  [[nodiscard]] constexpr double operator[](int column) const { return values[column]; }
  /// The mean over the rows; 0 if there are none.
  [[nodiscard]] constexpr double mean(int column) const { return weight != 0 ? (*this)[column] / weight : 0; }
};

namespace metrics {

/// A metric's `result`, which takes the metric's options.
struct metric_result {
  std::string_view name;  ///< the name in logs
  double (*call)(diagnostics::own_options const&, metric_sums const&);
};

namespace detail {

/// The result of a metric with `call`.
template <class Metric>
struct result_of_own {
  static double call(diagnostics::own_options const& options, metric_sums const& sums) {
    return static_cast<double>(stagecraft::detail::own_from<Metric>(options).result(sums));
  }
  static constexpr metric_result value{Metric::name, &call};
};

/// a / b as Keras divides: 0 if b is 0.
[[nodiscard]] constexpr double ratio(double a, double b) noexcept { return b != 0 ? a / b : 0; }

}  // namespace detail

}  // namespace metrics

}  // namespace stagecraft

namespace stagecraft::metrics {

/// The kind of a metric. If nothing else is said, each row of a batch has one number, and the metric is their mean over
/// an epoch.
enum class metric_kind : unsigned char {
  accuracy,                           ///< one of three accuracies, see `resolve`
  categorical_accuracy,               ///< argmax of the prediction == argmax of the target
  sparse_categorical_accuracy,        ///< argmax of the prediction == target
  top_k_categorical_accuracy,         ///< argmax of the target is among the k largest predictions
  sparse_top_k_categorical_accuracy,  ///< target is among the k largest predictions
  call,          ///< the mean over the columns that the metric's `call` returns, or its `result` of their sums
  confusion,     ///< the metric's `result` of counts of right and wrong yes/no predictions: confusion.hpp
  class_matrix,  ///< the metric's `result` of a matrix of counts, target class by predicted class
};

/// The name that Keras reports in logs, history and the progress bar.
[[nodiscard]] constexpr std::string_view name(metric_kind kind) noexcept {
  switch (kind) {
    case metric_kind::accuracy: return "accuracy";
    case metric_kind::categorical_accuracy: return "categorical_accuracy";
    case metric_kind::sparse_categorical_accuracy: return "sparse_categorical_accuracy";
    case metric_kind::top_k_categorical_accuracy: return "top_k_categorical_accuracy";
    case metric_kind::sparse_top_k_categorical_accuracy: return "sparse_top_k_categorical_accuracy";
    default: break;
  }
  return "";
}

/// True when targets of this metric are class numbers, one per row.
[[nodiscard]] constexpr bool wants_sparse_targets(metric_kind kind) noexcept {
  return kind == metric_kind::sparse_categorical_accuracy || kind == metric_kind::sparse_top_k_categorical_accuracy;
}

/// The targets that a metric can be computed from.
enum class metric_targets : unsigned char {
  any,     ///< the targets of its kind; a metric that sees whole rows takes any
  values,  ///< a float for each column
  classes  ///< class numbers, one for each row
};

/// Any metric as one structural value. Every options type of this folder converts to it, so that a list of metrics is
/// an array of these (see metric_list.hpp).
struct metric {
  using own_call = operations::tensor(operations::tracer&, operations::tensor target, operations::tensor output);
  static constexpr auto own_kind = metric_kind::call;
  static constexpr std::string_view own_name = "metric";
  static constexpr std::string_view own_usage = "constexpr auto call(auto target, auto output) const";

  metric_kind kind = metric_kind::accuracy;
  int k = 0;                    ///< the number of top-k accuracies and the like
  bool has_short_name = false;  ///< accuracy is reported as "acc"
  bool scales_columns = false;  ///< `call` with `ops` only: each column is multiplied by its factor in `numbers`
  // It is not the last member: Clang 19 reads a member of a template argument in a wrong place if the argument has
  // holes inside and at its end.
  metric_targets targets = metric_targets::any;
  int along = 0;                                            ///< `call` only: the axis, plus 1; 0 is the last one
  diagnostics::own_rules<own_call> const* rules = nullptr;  ///< rules of a metric with `call`
  diagnostics::own_options options = {};                    ///< its members
  metric_result const* result = nullptr;                    ///< the result, if it is no mean over rows
  std::string_view const* own_label = nullptr;              ///< the name in reports, if one was chosen: `named`
  /// Thresholds of confusion, then weights of labels; with `scales_columns` the factors of columns.
  number_list numbers = {};
  int parts = 0;  ///< the number of values that it reports, if several: `part_of`

  /// The name in logs: `accuracy` keeps its name whatever it is resolved to, as Keras's "accuracy" string does.
  [[nodiscard]] constexpr std::string_view name() const noexcept {
    return own_label != nullptr                              ? *own_label
           : rules != nullptr                                ? rules->name
           : result != nullptr                               ? result->name
           : has_short_name && kind == metric_kind::accuracy ? "acc"
                                                             : metrics::name(kind);
  }

  /// Makes a metric of one's own, which may have a `result` and name its targets.
  template <class Own>
  constexpr void take([[maybe_unused]] Own const& own) {
    if constexpr (requires { Own::sparse_targets; })
      targets = Own::sparse_targets ? metric_targets::classes : metric_targets::values;
    if constexpr (requires { own.axis; }) along = own.axis + 1;
    if constexpr (requires(metric_sums const& sums) { own.result(sums); }) result = &detail::result_of_own<Own>::value;
  }

  friend constexpr bool operator==(metric const&, metric const&) = default;
};

namespace detail {

template <fixed_name Name>
struct label {
  static constexpr std::string_view value = Name.view();
};

}  // namespace detail

/// A metric with Keras's `name`, under which it is reported: `named<"auprc">(auc{.curve = auc_curve::pr})`.
template <fixed_name Name>
[[nodiscard]] constexpr metric named(metric of) {
  of.own_label = &detail::label<Name>::value;
  return of;
}

}  // namespace stagecraft::metrics

namespace stagecraft {

/// Base of a metric of your own, in the words of a layer's `call`:
///
///     struct log_cosh : sc::own_metric<log_cosh> {
///       static constexpr std::string_view name = "log_cosh";
///       constexpr auto call(auto target, auto output) const {
///         auto const error = output - target;
///         return error + softplus(error * -2.0F) - 0.693147181F;
///       }
///     };
///
/// `target` and `output` are (rows, columns), and so is the result, whose mean over the columns is the number of a row;
/// the metric is the mean over the rows of an epoch, in `weighted_metrics` with the weights of the samples. A metric
/// that sees whole rows has `call(auto& ops, auto target, auto output)`, which may return one column; where targets are
/// class numbers, its target is (rows, 1). `name` is its name in logs. Members are options: at most eight floats and
/// ints. Errors: E1070 for tensors that do not fit; E1081 other members; E1082 no `call`; E4023 class numbers for one
/// without `ops`. Definition: Keras API, metrics, "Creating custom metrics".
template <class Derived>
using own_metric = detail::own_option<Derived, metrics::metric>;

}  // namespace stagecraft
