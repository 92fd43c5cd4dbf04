// SPDX-License-Identifier: BSD-3-Clause
// The base of metrics of one's own. Keras counterpart: a function that is given as metric, or tf.keras.metrics.Metric.
#pragma once

#include <stagecraft/metrics/metric.hpp>

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
/// `target` and `output` are (rows, columns), and so is the result, whose mean over the columns is what a row counts;
/// the metric is the mean over the rows of an epoch, in `weighted_metrics` with the weights of the samples. What sees a
/// row as a whole is `call(auto& ops, auto target, auto output)`, which may give one column; where targets are class
/// numbers, its target is (rows, 1). `name` is its name in logs. Members are options: at most eight floats and ints.
/// Errors: E1070 for tensors that do not fit; E1081 other members; E1082 no `call`; E4023 class numbers for one without
/// `ops`. Definition: Keras API, metrics, "Creating custom metrics".
template <class Derived>
using own_metric = detail::own_option<Derived, metrics::metric>;

}  // namespace stagecraft
