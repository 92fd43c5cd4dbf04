// SPDX-License-Identifier: BSD-3-Clause
// A convolution of sequences: tf.keras.layers.Conv1D.
#pragma once

#include <stagecraft/layers/convolutional/convolution.hpp>

namespace stagecraft::layers {

using conv1d_options = convolution_options<int>;

/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., steps, channels) to (..., new steps, filters), where the new length is
/// floor((steps - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(steps / strides)
/// with padding::same and padding::causal. Weights: kernel (steps, channels / groups, filters), bias (filters).
/// Errors: E1030 to E1035, see convolution. Definition: Keras API, layers/convolution_layers/convolution1d.
struct conv1d : convolution<conv1d, int> {
  static constexpr std::string_view class_name = "Conv1D";
  static constexpr std::string_view usage =
      "conv1d{filters, kernel_size}, conv1d{filters, kernel_size, activation} or conv1d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::convolution;

  using convolution::convolution;

  /// Nothing, or anything else: E1025.
  template <class L = conv1d>
  constexpr conv1d() : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = conv1d>
  constexpr explicit conv1d(detail::wrong_options, ...) : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
