// SPDX-License-Identifier: BSD-3-Clause
// A convolution with weights of its own at each place: tf.keras.layers.LocallyConnected2D.
#pragma once

#include <stagecraft/layers/locally_connected/locally_connected_layer.hpp>

namespace stagecraft::layers {

using locally_connected2d_options = locally_connected_options<size_2d>;

/// See locally_connected_layer. Shape: (height, width, channels) to (new height, width, channels) with `filters`
/// channels. Definition: Keras API, layers/locally_connected_layers/locall_connected2d.
struct locally_connected2d : locally_connected_layer<locally_connected2d, size_2d> {
  static constexpr std::string_view class_name = "LocallyConnected2D";
  static constexpr std::string_view usage =
      "locally_connected2d{filters, kernel_size}, locally_connected2d{filters, kernel_size, activation} or "
      "locally_connected2d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using locally_connected_layer::locally_connected_layer;
};

}  // namespace stagecraft::layers
