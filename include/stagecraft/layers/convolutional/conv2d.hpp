// SPDX-License-Identifier: BSD-3-Clause
// A convolution of images: tf.keras.layers.Conv2D.
#pragma once

#include <stagecraft/layers/convolutional/convolution.hpp>

namespace stagecraft::layers {

using conv2d_options = convolution_options<size_2d>;

/// output = activation(convolution of the input with the kernel + bias), channels last.
///
/// Shape: (..., height, width, channels) to (..., new height, new width, filters), where each of the new lengths is
/// floor((length - dilation_rate * (kernel_size - 1) - 1) / strides) + 1 with padding::valid and ceil(length / strides)
/// with padding::same. Weights: kernel (height, width, channels / groups, filters), bias (filters).
/// Errors: E1030 to E1035 and E1037, see convolution. Definition: Keras API, layers/convolution_layers/convolution2d.
struct conv2d : convolution<conv2d, size_2d> {
  static constexpr std::string_view class_name = "Conv2D";
  static constexpr std::string_view usage =
      "conv2d{filters, kernel_size}, conv2d{filters, kernel_size, activation} or conv2d{filters, kernel_size, "
      "activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::convolution;

  using convolution::convolution;

  /// Nothing, or anything else: E1025.
  template <class L = conv2d>
  constexpr conv2d() : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = conv2d>
  constexpr explicit conv2d(detail::wrong_options, ...) : convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
