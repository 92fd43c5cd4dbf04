// SPDX-License-Identifier: BSD-3-Clause
// Metrics of predicted numbers, and of the losses that have such a metric, with their short names.
// Keras counterpart: the classes of the same names of tf.keras.metrics, and texts such as "mae" in
// compile(metrics=...).
#pragma once

#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/losses/hinge.hpp>
#include <stagecraft/losses/probabilistic.hpp>
#include <stagecraft/losses/regression.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

/// Mean of the squared differences. Keras: tf.keras.metrics.MeanSquaredError.
/// mean over the last axis of (prediction - target)^2; target and prediction (rows, columns).
struct mean_squared_error : own_metric<mean_squared_error> {
  static constexpr std::string_view name = "mean_squared_error";

  constexpr auto call(auto target, auto output) const { return losses::mean_squared_error{}.call(target, output); }
};

/// `mean_squared_error`, reported as "mse" in logs and history, as Keras reports a metric under the text that asks for
/// it.
struct mse : own_metric<mse> {
  static constexpr std::string_view name = "mse";

  constexpr auto call(auto target, auto output) const { return losses::mean_squared_error{}.call(target, output); }
};

/// The root of the mean of squared differences. Keras: tf.keras.metrics.RootMeanSquaredError.
/// sqrt(mean((prediction - target)^2)) over all rows and columns; target and prediction (rows, columns).
struct root_mean_squared_error : own_metric<root_mean_squared_error> {
  static constexpr std::string_view name = "root_mean_squared_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const { return ops.mean(square(output - target), -1); }
  static double result(metric_sums const& sums) { return __builtin_sqrt(sums.mean(0)); }
};

/// Mean of the absolute differences. Keras: tf.keras.metrics.MeanAbsoluteError.
/// mean over the last axis of |prediction - target|; target and prediction (rows, columns).
struct mean_absolute_error : own_metric<mean_absolute_error> {
  static constexpr std::string_view name = "mean_absolute_error";

  constexpr auto call(auto target, auto output) const { return losses::mean_absolute_error{}.call(target, output); }
};

/// `mean_absolute_error`, reported as "mae" in logs and history, as Keras reports a metric under the text that asks for
/// it.
struct mae : own_metric<mae> {
  static constexpr std::string_view name = "mae";

  constexpr auto call(auto target, auto output) const { return losses::mean_absolute_error{}.call(target, output); }
};

/// Mean of absolute differences in percent of the targets. Keras: tf.keras.metrics.MeanAbsolutePercentageError.
/// It is the mean of the loss of that name over rows.
struct mean_absolute_percentage_error : own_metric<mean_absolute_percentage_error> {
  static constexpr std::string_view name = "mean_absolute_percentage_error";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_absolute_percentage_error{}.call(target, output);
  }
};

/// `mean_absolute_percentage_error`, reported as "mape": the text "mape" in Keras's compile(metrics=...).
struct mape : own_metric<mape> {
  static constexpr std::string_view name = "mape";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_absolute_percentage_error{}.call(target, output);
  }
};

/// Mean of squared differences of logarithms. Keras: tf.keras.metrics.MeanSquaredLogarithmicError.
/// It is the mean of the loss of that name over rows.
struct mean_squared_logarithmic_error : own_metric<mean_squared_logarithmic_error> {
  static constexpr std::string_view name = "mean_squared_logarithmic_error";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_squared_logarithmic_error{}.call(target, output);
  }
};

/// `mean_squared_logarithmic_error`, reported as "msle": the text "msle" in Keras's compile(metrics=...).
struct msle : own_metric<msle> {
  static constexpr std::string_view name = "msle";

  constexpr auto call(auto target, auto output) const {
    return losses::mean_squared_logarithmic_error{}.call(target, output);
  }
};

namespace detail {

/// One divisor for all columns; `factor` is its inverse.
struct mean_relative_error {
  static constexpr std::string_view name = "mean_relative_error";
  float factor = 1;

  constexpr auto call(auto target, auto output) const { return abs(output - target) * factor; }
};
/// A divisor for each column; their inverses are the metric's `numbers`.
struct mean_relative_errors {
  static constexpr std::string_view name = "mean_relative_error";

  constexpr auto call(auto& /*ops*/, auto target, auto output) const { return abs(output - target); }
};

}  // namespace detail

/// Mean of absolute differences in parts of a number. Keras: tf.keras.metrics.MeanRelativeError.
/// mean over the last axis of |prediction - target| / normalizer, or 0 if that is 0; target and prediction (rows,
/// columns).
struct mean_relative_error {
  /// The divisor of differences: one number, or one for each of up to 32 columns; an empty or longer list is E1102.
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

/// Mean of the logarithms of the hyperbolic cosines of differences. Keras: tf.keras.metrics.LogCoshError.
/// It is the mean of the loss `log_cosh` over rows.
struct log_cosh_error : own_metric<log_cosh_error> {
  static constexpr std::string_view name = "logcosh";

  constexpr auto call(auto target, auto output) const { return losses::log_cosh{}.call(target, output); }
};

/// The angle between prediction and target. Keras: tf.keras.metrics.CosineSimilarity.
/// The cosine of the angle between a row and its target, 0 if either is 0: the loss of that name has the other sign.
struct cosine_similarity {
  int axis = -1;  ///< the axis of vectors; 1 is the first one of a sample. E1103

  static constexpr std::string_view name = "cosine_similarity";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return -losses::cosine_similarity{}.call(ops, target, output);
  }
  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(*this);
  }
};

/// The distance of a distribution from another one. Keras: tf.keras.metrics.KLDivergence.
/// It is the mean of the loss of that name over rows.
struct kl_divergence : own_metric<kl_divergence> {
  static constexpr std::string_view name = "kullback_leibler_divergence";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::kl_divergence{}.call(ops, target, output);
  }
};

/// `kl_divergence`, reported as "kld": the text "kld" in Keras's compile(metrics=...).
struct kld : own_metric<kld> {
  static constexpr std::string_view name = "kld";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::kl_divergence{}.call(ops, target, output);
  }
};

/// The negative log-likelihood of counts, whose Poisson distributions have the predicted means. Keras:
/// tf.keras.metrics.Poisson. It is the mean of the loss of that name over rows.
struct poisson : own_metric<poisson> {
  static constexpr std::string_view name = "poisson";

  constexpr auto call(auto target, auto output) const { return losses::poisson{}.call(target, output); }
};

/// The margin of classes -1 and 1. Keras: tf.keras.metrics.Hinge.
/// It is the mean of the loss of that name over rows.
struct hinge : own_metric<hinge> {
  static constexpr std::string_view name = "hinge";

  constexpr auto call(auto target, auto output) const { return losses::hinge{}.call(target, output); }
};

/// The margin of classes -1 and 1, squared. Keras: tf.keras.metrics.SquaredHinge.
/// It is the mean of the loss of that name over rows.
struct squared_hinge : own_metric<squared_hinge> {
  static constexpr std::string_view name = "squared_hinge";

  constexpr auto call(auto target, auto output) const { return losses::squared_hinge{}.call(target, output); }
};

/// The margin between the class and the best of the others. Keras: tf.keras.metrics.CategoricalHinge.
/// It is the mean of the loss of that name over rows.
struct categorical_hinge : own_metric<categorical_hinge> {
  static constexpr std::string_view name = "categorical_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::categorical_hinge{}.call(ops, target, output);
  }
};

}  // namespace stagecraft::metrics
