// SPDX-License-Identifier: BSD-3-Clause
// One metric with its options as a compile-time value.
// Keras counterpart: tf.keras.metrics. Level 2 of the house: options only, sums are in training/metric_state.hpp.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::metrics {

/// What is measured. Each row of a batch contributes one number, the metric is their mean over an epoch.
enum class metric_kind : unsigned char {
  accuracy,                           ///< one of three, see `resolve`
  categorical_accuracy,               ///< argmax of the prediction == argmax of the target
  sparse_categorical_accuracy,        ///< argmax of the prediction == target
  top_k_categorical_accuracy,         ///< argmax of the target is among the k largest predictions
  sparse_top_k_categorical_accuracy,  ///< target is among the k largest predictions
  call,                               ///< mean over the columns of what the metric's `call` says
};

/// The name that Keras reports in logs, history and the progress bar.
[[nodiscard]] constexpr std::string_view name(metric_kind kind) noexcept {
  switch (kind) {
    case metric_kind::accuracy: return "accuracy";
    case metric_kind::categorical_accuracy: return "categorical_accuracy";
    case metric_kind::sparse_categorical_accuracy: return "sparse_categorical_accuracy";
    case metric_kind::top_k_categorical_accuracy: return "top_k_categorical_accuracy";
    case metric_kind::sparse_top_k_categorical_accuracy: return "sparse_top_k_categorical_accuracy";
    case metric_kind::call: break;
  }
  return "";
}

/// True when targets of this metric are class numbers, one per row.
[[nodiscard]] constexpr bool wants_sparse_targets(metric_kind kind) noexcept {
  return kind == metric_kind::sparse_categorical_accuracy || kind == metric_kind::sparse_top_k_categorical_accuracy;
}

/// What a metric that is written as a `call` says, by its type.
struct metric_rules {
  using tensor = operations::tensor;
  std::string_view name;
  bool is_elementwise;  ///< its `call` has no `ops`
  tensor (*call)(own_options const&, operations::tracer&, tensor target, tensor output);
};

/// Any metric as one structural value. Every options type of this folder converts to it, so that a list of metrics is
/// an array of these (see metric_list.hpp).
struct metric {
  metric_kind kind = metric_kind::accuracy;
  int k = 5;                            ///< top-k accuracies only
  bool has_short_name = false;          ///< accuracy is reported as "acc"
  metric_rules const* rules = nullptr;  ///< of one that is a `call`
  own_options options = {};             ///< and its members

  /// The name in logs: `accuracy` keeps its name whatever it is resolved to, as Keras's "accuracy" string does.
  [[nodiscard]] constexpr std::string_view name() const noexcept {
    return rules != nullptr                                  ? rules->name
           : has_short_name && kind == metric_kind::accuracy ? "acc"
                                                             : metrics::name(kind);
  }

  friend constexpr bool operator==(metric const&, metric const&) = default;
};

namespace detail {

template <class Own>
concept HasPlainMetricCall = requires(Own const& own, operations::tensor x) {
  { own.call(x, x) } -> std::convertible_to<operations::tensor>;
};
template <class Own>
concept HasMetricCall =
    HasPlainMetricCall<Own> || requires(Own const& own, operations::tracer& ops, operations::tensor x) {
      { own.call(ops, x, x) } -> std::convertible_to<operations::tensor>;
    };

template <class Own>
struct rules_of_metric {
  static constexpr operations::tensor call(own_options const& options, [[maybe_unused]] operations::tracer& ops,
                                           operations::tensor target, operations::tensor output) {
    if constexpr (HasPlainMetricCall<Own>)
      return stagecraft::detail::own_from<Own>(options).call(target, output);
    else
      return stagecraft::detail::own_from<Own>(options).call(ops, target, output);
  }
  static constexpr metric_rules value{Own::name, HasPlainMetricCall<Own>, &call};
};

/// A metric that is written as a `call`, as a value.
template <HasMetricCall Own>
constexpr metric metric_of(Own const& own) {
  return {.kind = metric_kind::call,
          .k = 0,
          .rules = &rules_of_metric<Own>::value,
          .options = stagecraft::detail::words_of(own)};
}

}  // namespace detail

}  // namespace stagecraft::metrics
