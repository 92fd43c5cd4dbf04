// SPDX-License-Identifier: BSD-3-Clause
// The mean of numbers that come one after the other, for loops of one's own.
// Keras counterpart: tf.keras.metrics.Mean.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <cstddef>

namespace stagecraft::metrics {

/// `mean loss; loss.update_state(model.train_on_batch(x, y)[0]); loss.result()`. It stands in no training: a metric
/// there sees targets and outputs.
class mean {
 public:
  constexpr void update_state(double value, double sample_weight = 1) {
    total_ += value * sample_weight;
    count_ += sample_weight;
  }
  /// All of them, each with its weight, or with weight 1.
  constexpr void update_state(tracing::array_view<float const> values,
                              tracing::array_view<float const> sample_weight = {}) {
    for (std::size_t i = 0; i < values.size(); ++i)
      update_state(static_cast<double>(values[i]), sample_weight.empty() ? 1.0 : static_cast<double>(sample_weight[i]));
  }
  constexpr void reset_state() { *this = {}; }
  /// The weighted mean of all values since the last reset; 0 if there are none.
  [[nodiscard]] constexpr double result() const { return count_ != 0 ? total_ / count_ : 0; }

 private:
  double total_ = 0, count_ = 0;
};

}  // namespace stagecraft::metrics
