// SPDX-License-Identifier: BSD-3-Clause
// The mean of each channel of a volume: tf.keras.layers.GlobalAveragePooling3D.
#pragma once

#include <stagecraft/layers/pooling/global_pooling_layer.hpp>

namespace stagecraft::layers {

/// The mean of each channel over all positions.
///
/// Shape: (depth, height, width, channels) to (channels), or (1, 1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling3d.
struct global_average_pooling3d : global_pooling_layer<global_average_pooling3d, 4> {
  static constexpr std::string_view class_name = "GlobalAveragePooling3D";
  static constexpr std::string_view usage =
      "global_average_pooling3d{} or global_average_pooling3d{{.keepdims = true, .name = ...}}"sv;

  using global_pooling_layer<global_average_pooling3d, 4>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
};

}  // namespace stagecraft::layers
