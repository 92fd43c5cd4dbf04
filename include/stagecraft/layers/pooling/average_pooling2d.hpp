// SPDX-License-Identifier: BSD-3-Clause
// The mean of a window that slides over an image: tf.keras.layers.AveragePooling2D.
#pragma once

#include <stagecraft/layers/pooling/pooling_layer.hpp>

namespace stagecraft::layers {

/// The mean of each window, channel by channel; cells that `same` padding adds do not count.
///
/// Shape: (height, width, channels) to (new height, new width, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/average_pooling2d.
struct average_pooling2d : pooling_layer<average_pooling2d, size_2d> {
  static constexpr std::string_view class_name = "AveragePooling2D";
  static constexpr std::string_view usage =
      "average_pooling2d{pool_size} or average_pooling2d{pool_size, {.strides = 1, .padding = sc::padding::same, .name "
      "= ...}}"sv;
  static constexpr auto steps_by = layer_kernel::average_pooling;

  using pooling_layer<average_pooling2d, size_2d>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.average_pool(x, over); }
};

}  // namespace stagecraft::layers
