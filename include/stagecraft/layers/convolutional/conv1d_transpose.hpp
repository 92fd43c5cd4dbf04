// SPDX-License-Identifier: BSD-3-Clause
// The convolution that leads back, from a short sequence to a long one: tf.keras.layers.Conv1DTranspose.
#pragma once

#include <stagecraft/layers/convolutional/transposed_convolution.hpp>

namespace stagecraft::layers {

using conv1d_transpose_options = transposed_convolution_options<int>;

/// See transposed_convolution. Shape: (steps, channels) to (new steps, filters).
/// Definition: Keras API, layers/convolution_layers/convolution1d_transpose.
struct conv1d_transpose : transposed_convolution<conv1d_transpose, int> {
  static constexpr std::string_view class_name = "Conv1DTranspose";
  static constexpr std::string_view usage =
      "conv1d_transpose{filters, kernel_size}, conv1d_transpose{filters, kernel_size, activation} or "
      "conv1d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using transposed_convolution::transposed_convolution;
};

}  // namespace stagecraft::layers
