// SPDX-License-Identifier: BSD-3-Clause
// The small convolutional network that its programs train: 28x28x1 -> conv2d 3x3x32 relu -> conv2d 3x3x64 relu ->
// max_pooling2d 2 -> flatten -> dense 128 relu -> dense 10, softmax cross-entropy. All start with the same weights.
#pragma once

#include "first_weights.hpp"

namespace stagecraft::benchmarks {

inline constexpr int cnn_side = 28;
inline constexpr int cnn_inputs = cnn_side * cnn_side;
inline constexpr int cnn_first = 32;
inline constexpr int cnn_second = 64;
inline constexpr int cnn_flat = 12 * 12 * cnn_second;
inline constexpr int cnn_units = 128;
inline constexpr int cnn_classes = 10;

/// Kernels as Keras has them: (height, width, channels, filters) and (inputs, units), row-major; biases are 0.
inline network_weights cnn_weights() {
  return {{{3, 3, 1, cnn_first}, 1},
          {{3, 3, cnn_first, cnn_second}, 2},
          {{cnn_flat, cnn_units}, 3},
          {{cnn_units, cnn_classes}, 4}};
}

/// Floating-point operations for one sample, forward: products and sums of the convolutions and dense layers.
inline constexpr double cnn_forward_operations = 2.0 * (26 * 26 * 9 * cnn_first + 24 * 24 * 9 * cnn_first * cnn_second +
                                                        cnn_flat * cnn_units + cnn_units * cnn_classes);
/// Forward, and both gradients but for the first layer's input.
inline constexpr double cnn_training_operations = 3.0 * cnn_forward_operations - 2.0 * (26 * 26 * 9 * cnn_first);

}  // namespace stagecraft::benchmarks
