// SPDX-License-Identifier: BSD-3-Clause
// The mean of numbers that come one after the other, for loops of one's own.
// Keras counterpart: tf.keras.metrics.Mean.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace stagecraft::metrics {

/// `mean loss; loss.update_state(model.train_on_batch(x, y)[0]); loss.result()`. It stands in no training: a metric
/// there sees targets and outputs.
class mean {
 public:
  constexpr void update_state(double value, double sample_weight = 1) {
    total_ += value * sample_weight;
    count_ += sample_weight;
  }
  /// All of them, each with its weight, or with weight 1: what converts to a std::span<float const>, which programs
  /// that do not call this do not instantiate.
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

}  // namespace stagecraft::metrics
