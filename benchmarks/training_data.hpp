// SPDX-License-Identifier: BSD-3-Clause
// What the training benchmarks train on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "aligned_floats.hpp"

namespace stagecraft::benchmarks {

/// Sixteen batches of 28x28 pixels of noise around one pattern per class, in turn.
template <int Batch>
class training_data {
 public:
  static constexpr int batches = 16;
  static constexpr int pixels = 784;

  training_data() : x_(batches * Batch * pixels), labels_(batches * Batch) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (int sample = 0; sample < batches * Batch; ++sample) {
      int const label = static_cast<int>(generator() % 10);
      labels_[static_cast<std::size_t>(sample)] = label;
      for (int pixel = 0; pixel < pixels; ++pixel)
        x_.data()[sample * pixels + pixel] = uniform(generator) * (pixel % 10 == label ? 1.0F : 0.5F);
    }
  }

  [[nodiscard]] float const* x(int batch) { return x_.data() + batch % batches * Batch * pixels; }
  /// Labels wander from batch to batch: what could be learnt by heart would let gradients, and with them the
  /// optimizer's state, shrink to denormal numbers, whose arithmetic is slow.
  [[nodiscard]] std::int32_t const* labels(int batch) const {
    return labels_.data() + (batch + batch / batches) % batches * Batch;
  }

 private:
  aligned_floats x_;
  std::vector<std::int32_t> labels_;
};

}  // namespace stagecraft::benchmarks
