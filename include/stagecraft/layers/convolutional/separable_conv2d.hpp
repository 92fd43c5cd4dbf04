// SPDX-License-Identifier: BSD-3-Clause
// A convolution of images in two steps: tf.keras.layers.SeparableConv2D.
#pragma once

#include <stagecraft/layers/convolutional/separable_convolution.hpp>

namespace stagecraft::layers {

using separable_conv2d_options = separable_convolution_options<size_2d>;

/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (height, width, channels) to (new height, new width, filters), the new lengths as in conv2d.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution2d.
struct separable_conv2d : separable_convolution<separable_conv2d, size_2d> {
  static constexpr std::string_view class_name = "SeparableConv2D";
  static constexpr std::string_view usage =
      "separable_conv2d{filters, kernel_size}, separable_conv2d{filters, kernel_size, activation} or "
      "separable_conv2d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::separable_convolution;

  using separable_convolution::separable_convolution;

  /// Nothing, or anything else: E1025.
  template <class L = separable_conv2d>
  constexpr separable_conv2d() : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = separable_conv2d>
  constexpr explicit separable_conv2d(detail::wrong_options, ...) : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
