// SPDX-License-Identifier: BSD-3-Clause
// Means and sums of numbers that come one after the other, for loops of one's own.
// Keras counterpart: Mean, MeanTensor and Sum of tf.keras.metrics.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace stagecraft::metrics {

/// The running mean of numbers, for loops of one's own. Keras: tf.keras.metrics.Mean.
/// `mean loss; loss.update_state(model.train_on_batch(x, y)[0]); loss.result()`. A training does not take it: metrics
/// there see targets and outputs.
class mean {
 public:
  constexpr void update_state(double value, double sample_weight = 1) {
    total_ += value * sample_weight;
    count_ += sample_weight;
  }
  /// Adds all values, each with its weight or weight 1. Types that convert to std::span<float const>; programs that do
  /// not call this do not instantiate it.
  template <class Values = std::span<float const>, class Weights = std::span<float const>>
    requires(!std::is_arithmetic_v<Values> && std::is_convertible_v<Values const&, std::span<float const>> &&
             std::is_convertible_v<Weights const&, std::span<float const>>)
  constexpr void update_state(Values const& values, Weights const& sample_weight = {}) {
    std::span<float const> const all = values, weights = sample_weight;
    for (std::size_t i = 0; i < all.size(); ++i)
      update_state(static_cast<double>(all[i]), weights.empty() ? 1.0 : static_cast<double>(weights[i]));
  }
  constexpr void reset_state() { *this = {}; }
  /// The weighted mean of all values since the last reset; 0 if there are none.
  [[nodiscard]] constexpr double result() const { return count_ != 0 ? total_ / count_ : 0; }

 private:
  double total_ = 0, count_ = 0;
};

/// See mean_tensor. `Number` is the type of sums and means. It is a template so that programs without one do not
/// compile its vectors.
template <class Number>
class basic_mean_tensor {
 public:
  /// Elements that a later tensor lacks stay as they are; elements beyond those of the first tensor are left out.
  void update_state(std::span<float const> values, double sample_weight = 1) {
    if (total_.empty()) total_.resize(values.size());
    for (std::size_t i = 0; i < values.size() && i < total_.size(); ++i)
      total_[i] += static_cast<Number>(values[i]) * sample_weight;
    count_ += sample_weight;
  }
  void reset_state() {
    total_.clear();
    count_ = 0;
  }
  /// The mean of each element; empty if there were no values.
  [[nodiscard]] std::vector<Number> result() const {
    std::vector<Number> means = total_;
    for (Number& each : means) each = count_ != 0 ? each / count_ : 0;
    return means;
  }

 private:
  std::vector<Number> total_;
  double count_ = 0;
};

/// The running mean of each element of tensors, which have as many elements as the first one:
/// tf.keras.metrics.MeanTensor.
using mean_tensor = basic_mean_tensor<double>;

/// The running sum of numbers, for loops of one's own. Keras: tf.keras.metrics.Sum.
class sum {
 public:
  constexpr void update_state(double value, double sample_weight = 1) { total_ += value * sample_weight; }
  /// Adds all values, each with its weight or weight 1.
  constexpr void update_state(std::span<float const> values, std::span<float const> sample_weight = {}) {
    for (std::size_t i = 0; i < values.size(); ++i)
      update_state(static_cast<double>(values[i]), sample_weight.empty() ? 1.0 : static_cast<double>(sample_weight[i]));
  }
  constexpr void reset_state() { total_ = 0; }
  [[nodiscard]] constexpr double result() const { return total_; }

 private:
  double total_ = 0;
};

}  // namespace stagecraft::metrics
