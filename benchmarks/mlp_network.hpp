// SPDX-License-Identifier: BSD-3-Clause
// The perceptron that all its programs train: 784 -> 256 relu -> 128 relu -> 10, softmax cross-entropy. Every program
// starts with the same weights, so that their losses can be compared.
#pragma once

#include "first_weights.hpp"

namespace stagecraft::benchmarks {

inline constexpr int mlp_inputs = 784;
inline constexpr int mlp_first = 256;
inline constexpr int mlp_second = 128;
inline constexpr int mlp_classes = 10;

/// Kernels are (inputs, units), row-major; biases are 0.
inline network_weights mlp_weights() {
  return {{{mlp_inputs, mlp_first}, 1}, {{mlp_first, mlp_second}, 2}, {{mlp_second, mlp_classes}, 3}};
}

/// Floating-point operations for one sample, forward: products and sums of the dense layers.
inline constexpr double mlp_forward_operations =
    2.0 * (mlp_inputs * mlp_first + mlp_first * mlp_second + mlp_second * mlp_classes);
/// Forward, and both gradients but for the first layer's input.
inline constexpr double mlp_training_operations = 3.0 * mlp_forward_operations - 2.0 * mlp_inputs * mlp_first;

}  // namespace stagecraft::benchmarks
