// SPDX-License-Identifier: BSD-3-Clause
// The largest value of a window that slides over a sequence: tf.keras.layers.MaxPooling1D.
#pragma once

#include <stagecraft/layers/pooling/pooling_layer.hpp>

namespace stagecraft::layers {

/// The largest value of each window, channel by channel.
///
/// Shape: (steps, channels) to (new steps, channels). Defaults: pool_size 2, strides as the
/// pool_size, padding valid. No weights. Errors: see pooling_layer.
/// Definition: Keras API, layers/pooling_layers/max_pooling1d.
struct max_pooling1d : pooling_layer<max_pooling1d, int> {
  static constexpr std::string_view class_name = "MaxPooling1D";
  static constexpr std::string_view usage =
      "max_pooling1d{pool_size} or max_pooling1d{pool_size, {.strides = 1, .padding = sc::padding::same, "
      ".name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::max_pooling;

  using pooling_layer<max_pooling1d, int>::pooling_layer;

  static constexpr auto pool(auto& ops, auto x, operations::windows const& over) { return ops.max_pool(x, over); }
};

}  // namespace stagecraft::layers
