// SPDX-License-Identifier: BSD-3-Clause
// Sets random channels of an image to zero while training: tf.keras.layers.SpatialDropout2D.
#pragma once

#include <stagecraft/layers/regularization/spatial_dropout_layer.hpp>

namespace stagecraft::layers {

/// Drops whole channels, see spatial_dropout_layer. Shape (height, width, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout2d.
struct spatial_dropout2d : spatial_dropout_layer<spatial_dropout2d, 3> {
  static constexpr std::string_view class_name = "SpatialDropout2D";
  static constexpr std::string_view usage = "spatial_dropout2d{rate} or spatial_dropout2d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout2d, 3>::spatial_dropout_layer;
};

}  // namespace stagecraft::layers
