// SPDX-License-Identifier: BSD-3-Clause
// What the applications share: their options, and Keras's padding where a convolution halves an image.
#pragma once

#include <stagecraft/layers/reshaping/zero_padding.hpp>

namespace stagecraft::applications {

/// The arguments of a model of tf.keras.applications, as its template argument. Weights are loaded from Keras's files.
struct application_options {
  int height = 224, width = 224, channels = 3;  ///< the pictures' shape, `input_shape` in Keras
  int classes = 1000;                           ///< the units of the last layer
  /// True if the model has the layers that classify. Else it returns the last feature map (height / 32,
  /// width / 32, channels), as with `pooling=None` in Keras.
  bool include_top = true;
};

/// Keras's correct_pad: zeros before and after the rows and columns of a picture, so that windows of `size` with
/// strides of 2 halve it, upwards if it is odd.
constexpr layers::zero_padding2d halving_padding(int height, int width, int size) {
  int const after = size / 2;
  return layers::zero_padding2d{{{after - (1 - height % 2), after}, {after - (1 - width % 2), after}}};
}

}  // namespace stagecraft::applications
