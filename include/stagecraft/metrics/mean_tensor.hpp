// SPDX-License-Identifier: BSD-3-Clause
// The mean of tensors that come one after the other, element by element, for loops of one's own.
// Keras counterpart: tf.keras.metrics.MeanTensor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stagecraft::metrics {

/// See mean_tensor. Number: of the sums and means. A template, so that programs without one do not make its vectors.
template <class Number>
class basic_mean_tensor {
 public:
  /// Elements that a later tensor lacks stay as they are; what it has beyond the first one is left out.
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
  /// Element by element; empty if nothing came.
  [[nodiscard]] std::vector<Number> result() const {
    std::vector<Number> means = total_;
    for (Number& each : means) each = count_ != 0 ? each / count_ : 0;
    return means;
  }

 private:
  std::vector<Number> total_;
  double count_ = 0;
};

/// As `mean`, but of each element. All tensors have as many elements as the first one.
using mean_tensor = basic_mean_tensor<double>;

}  // namespace stagecraft::metrics
