// SPDX-License-Identifier: BSD-3-Clause
// The convolution that leads back, from a small volume to a large one: tf.keras.layers.Conv3DTranspose.
#pragma once

#include <stagecraft/layers/convolutional/transposed_convolution.hpp>

namespace stagecraft::layers {

using conv3d_transpose_options = transposed_convolution_options<size_3d>;

/// See transposed_convolution. Shape: (depth, height, width, channels) to (new depth, new height, new width, filters).
/// Definition: Keras API, layers/convolution_layers/convolution3d_transpose.
struct conv3d_transpose : transposed_convolution<conv3d_transpose, size_3d> {
  static constexpr std::string_view class_name = "Conv3DTranspose";
  static constexpr std::string_view usage =
      "conv3d_transpose{filters, kernel_size}, conv3d_transpose{filters, kernel_size, activation} or "
      "conv3d_transpose{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using transposed_convolution::transposed_convolution;
};

}  // namespace stagecraft::layers
