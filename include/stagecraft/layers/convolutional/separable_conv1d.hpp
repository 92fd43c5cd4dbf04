// SPDX-License-Identifier: BSD-3-Clause
// A convolution of sequences in two steps: tf.keras.layers.SeparableConv1D.
#pragma once

#include <stagecraft/layers/convolutional/separable_convolution.hpp>

namespace stagecraft::layers {

using separable_conv1d_options = separable_convolution_options<int>;

/// output = activation(mixture of (convolution of each channel of the input by itself) + bias), channels last.
///
/// Shape: (steps, channels) to (new steps, filters), the new length as in conv1d.
/// Weights: depthwise_kernel, pointwise_kernel, bias; their shapes, and errors: see separable_convolution.
/// Definition: Keras API, layers/convolution_layers/separable_convolution1d.
struct separable_conv1d : separable_convolution<separable_conv1d, int> {
  static constexpr std::string_view class_name = "SeparableConv1D";
  static constexpr std::string_view usage =
      "separable_conv1d{filters, kernel_size}, separable_conv1d{filters, kernel_size, activation} or "
      "separable_conv1d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;
  static constexpr auto steps_by = layer_kernel::separable_convolution;

  using separable_convolution::separable_convolution;

  /// Nothing, or anything else: E1025.
  template <class L = separable_conv1d>
  constexpr separable_conv1d() : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  template <class L = separable_conv1d>
  constexpr explicit separable_conv1d(detail::wrong_options, ...) : separable_convolution(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
};

}  // namespace stagecraft::layers
