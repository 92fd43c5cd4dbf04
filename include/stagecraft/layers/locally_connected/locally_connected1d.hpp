// SPDX-License-Identifier: BSD-3-Clause
// A convolution with weights of its own at each place: tf.keras.layers.LocallyConnected1D.
#pragma once

#include <stagecraft/layers/locally_connected/locally_connected_layer.hpp>

namespace stagecraft::layers {

using locally_connected1d_options = locally_connected_options<int>;

/// See locally_connected_layer. Shape: (steps, channels) to (new steps, channels) with `filters` channels.
/// Definition: Keras API, layers/locally_connected_layers/locall_connected1d.
struct locally_connected1d : locally_connected_layer<locally_connected1d, int> {
  static constexpr std::string_view class_name = "LocallyConnected1D";
  static constexpr std::string_view usage =
      "locally_connected1d{filters, kernel_size}, locally_connected1d{filters, kernel_size, activation} or "
      "locally_connected1d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using locally_connected_layer::locally_connected_layer;
};

}  // namespace stagecraft::layers
