// SPDX-License-Identifier: BSD-3-Clause
// Zeros around a picture before a window with strides of 2, as tf.keras.applications puts them.
#pragma once

#include <stagecraft/layers/reshaping/zero_padding2d.hpp>

namespace stagecraft::applications {

/// Keras's correct_pad: zeros before and after the rows and columns of a picture, so that windows of `size` with
/// strides of 2 halve it, upwards if it is odd.
constexpr layers::zero_padding2d halving_padding(int height, int width, int size) {
  int const after = size / 2;
  return layers::zero_padding2d{{{after - (1 - height % 2), after}, {after - (1 - width % 2), after}}};
}

}  // namespace stagecraft::applications
