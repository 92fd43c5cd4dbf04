// SPDX-License-Identifier: BSD-3-Clause
// The sum of numbers that come one after the other, for loops of one's own.
// Keras counterpart: tf.keras.metrics.Sum.
#pragma once

#include <cstddef>
#include <span>

namespace stagecraft::metrics {

/// As `mean`, but not divided by the number of values.
class sum {
 public:
  constexpr void update_state(double value, double sample_weight = 1) { total_ += value * sample_weight; }
  /// All of them, each with its weight, or with weight 1.
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
