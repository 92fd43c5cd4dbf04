// SPDX-License-Identifier: BSD-3-Clause
// Sets random channels of a sequence to zero while training: tf.keras.layers.SpatialDropout1D.
#pragma once

#include <stagecraft/layers/regularization/spatial_dropout_layer.hpp>

namespace stagecraft::layers {

/// Drops whole channels, see spatial_dropout_layer. Shape (steps, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout1d.
struct spatial_dropout1d : spatial_dropout_layer<spatial_dropout1d, 2> {
  static constexpr std::string_view class_name = "SpatialDropout1D";
  static constexpr std::string_view usage = "spatial_dropout1d{rate} or spatial_dropout1d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout1d, 2>::spatial_dropout_layer;
};

}  // namespace stagecraft::layers
