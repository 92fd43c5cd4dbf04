// SPDX-License-Identifier: BSD-3-Clause
// The mean of each channel of an image: tf.keras.layers.GlobalAveragePooling2D.
#pragma once

#include <stagecraft/layers/pooling/global_pooling_layer.hpp>

namespace stagecraft::layers {

/// The mean of each channel over all positions.
///
/// Shape: (height, width, channels) to (channels), or (1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling2d.
struct global_average_pooling2d : global_pooling_layer<global_average_pooling2d, 3> {
  static constexpr std::string_view class_name = "GlobalAveragePooling2D";
  static constexpr std::string_view usage =
      "global_average_pooling2d{} or global_average_pooling2d{{.keepdims = true, .name = ...}}"sv;

  using global_pooling_layer<global_average_pooling2d, 3>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
};

}  // namespace stagecraft::layers
