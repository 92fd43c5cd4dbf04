// SPDX-License-Identifier: BSD-3-Clause
// The largest value of a window that slides over a volume: tf.keras.layers.MaxPooling3D.
#pragma once

#include <stagecraft/layers/pooling/pooling3d_layer.hpp>

namespace stagecraft::layers {

/// The largest value of each window, channel by channel; see pooling3d_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling3d.
struct max_pooling3d : pooling3d_layer<max_pooling3d> {
  static constexpr std::string_view class_name = "MaxPooling3D";
  static constexpr std::string_view usage =
      "max_pooling3d{pool_size} or max_pooling3d{pool_size, {.strides = 1, .padding = sc::padding::same, "
      ".name = ...}}"sv;

  using pooling3d_layer::pooling3d_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.max_pool(x, over); }
};

}  // namespace stagecraft::layers
