// SPDX-License-Identifier: BSD-3-Clause
// Sets random channels of a volume to zero while training: tf.keras.layers.SpatialDropout3D.
#pragma once

#include <stagecraft/layers/regularization/spatial_dropout_layer.hpp>

namespace stagecraft::layers {

/// Drops whole channels, see spatial_dropout_layer. Shape (depth, height, width, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout3d.
struct spatial_dropout3d : spatial_dropout_layer<spatial_dropout3d, 4> {
  static constexpr std::string_view class_name = "SpatialDropout3D";
  static constexpr std::string_view usage = "spatial_dropout3d{rate} or spatial_dropout3d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout3d, 4>::spatial_dropout_layer;
};

}  // namespace stagecraft::layers
