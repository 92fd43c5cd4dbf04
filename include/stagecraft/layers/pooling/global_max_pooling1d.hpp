// SPDX-License-Identifier: BSD-3-Clause
// The largest value of each channel of a sequence: tf.keras.layers.GlobalMaxPooling1D.
#pragma once

#include <stagecraft/layers/pooling/global_pooling_layer.hpp>

namespace stagecraft::layers {

/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling1d.
struct global_max_pooling1d : global_pooling_layer<global_max_pooling1d, 2> {
  static constexpr std::string_view class_name = "GlobalMaxPooling1D";
  static constexpr std::string_view usage =
      "global_max_pooling1d{} or global_max_pooling1d{{.keepdims = true, .name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::global_max_pooling;

  using global_pooling_layer<global_max_pooling1d, 2>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.max(x, axes); }
};

}  // namespace stagecraft::layers
