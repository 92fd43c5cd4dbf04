// SPDX-License-Identifier: BSD-3-Clause
// Losses of predicted numbers.
// Keras counterpart: the classes of the same names of tf.keras.losses.
#pragma once

#include <stagecraft/losses/probabilistic.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses {

/// Mean of squared differences. Keras: tf.keras.losses.MeanSquaredError.
/// mean over the last axis of (prediction - target)^2; both (rows, columns).
struct mean_squared_error {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = mean_squared_error;
  static constexpr std::string_view name = "mean_squared_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const { return square(output - target); }
};

using mse = mean_squared_error;  ///< Keras's short name

/// Mean of absolute differences. Keras: tf.keras.losses.MeanAbsoluteError.
/// mean over the last axis of |prediction - target|; both (rows, columns). The gradient at 0 is 0.
struct mean_absolute_error {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = mean_absolute_error;
  static constexpr std::string_view name = "mean_absolute_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const { return abs(output - target); }
};

using mae = mean_absolute_error;  ///< Keras's short name

/// Mean of absolute differences in percent of the targets. Keras: tf.keras.losses.MeanAbsolutePercentageError.
/// mean over the last axis of 100 |prediction - target| / max(|target|, 1e-7); both (rows, columns).
struct mean_absolute_percentage_error {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = mean_absolute_percentage_error;
  static constexpr std::string_view name = "mean_absolute_percentage_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return abs((target - output) / maximum(abs(target), detail::probability_epsilon)) * 100.0F;
  }
};

using mape = mean_absolute_percentage_error;  ///< Keras's short name

/// Mean of squared differences of logarithms. Keras: tf.keras.losses.MeanSquaredLogarithmicError.
/// mean over the last axis of (log(1 + prediction) - log(1 + target))^2; both (rows, columns). Numbers below 1e-7 count
/// as that, and their gradient is 0.
struct mean_squared_logarithmic_error {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = mean_squared_logarithmic_error;
  static constexpr std::string_view name = "mean_squared_logarithmic_error";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    constexpr auto logarithm = [](auto x) { return log(maximum(x, detail::probability_epsilon) + 1); };
    return square(logarithm(output) - logarithm(target));
  }
};

using msle = mean_squared_logarithmic_error;  ///< Keras's short name

/// Squared differences near 0, absolute differences further out. Keras: tf.keras.losses.Huber.
/// mean over the last axis of e^2 / 2 for |e| <= delta and delta |e| - delta^2 / 2 beyond, e = prediction - target.
/// Keras's name of the loss is `huber_loss` in logs of version 2.6 and `huber` as an identifier.
struct huber {
  float delta = 1;                   ///< the difference where the square becomes a line
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = huber;
  static constexpr std::string_view name = "huber";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    auto const slope = maximum(minimum(error, delta), -delta);
    return slope * (error - slope * 0.5F);
  }
};

/// Squares of small differences, absolute values of large ones, smoothly. Keras: tf.keras.losses.LogCosh.
/// mean over the last axis of log(cosh(prediction - target)); both (rows, columns).
struct log_cosh {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = log_cosh;
  static constexpr std::string_view name = "log_cosh";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    return error + softplus(error * -2.0F) - 0.693147181F;
  }
};

using logcosh = log_cosh;  ///< Keras's short name

/// The angle between prediction and target. Keras: tf.keras.losses.CosineSimilarity.
/// -sum(target prediction) over the last axis, both (rows, columns) divided by their norms: -1 in the same direction, 0
/// if either is 0.
struct cosine_similarity {
  int axis = -1;                     ///< the axis of the vectors; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = cosine_similarity;
  static constexpr std::string_view name = "cosine_similarity";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const unit = [&](auto x) { return x * rsqrt(maximum(ops.sum(square(x), -1), 1e-12F)); };
    return -ops.sum(unit(target) * unit(output), -1);
  }
};

}  // namespace stagecraft::losses
