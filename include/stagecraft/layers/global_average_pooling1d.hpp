// SPDX-License-Identifier: BSD-3-Clause
// The mean of each channel of a sequence: tf.keras.layers.GlobalAveragePooling1D.
#pragma once

#include <stagecraft/layers/global_pooling_layer.hpp>

namespace stagecraft::layers {

/// The mean of each channel over all positions.
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling1d.
struct global_average_pooling1d : global_pooling_layer<global_average_pooling1d, 2> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "GlobalAveragePooling1D";
  static constexpr std::string_view usage =
      "global_average_pooling1d{} or global_average_pooling1d{{.keepdims = true, .name = ...}}";

  /// Keras's takes the mean of the steps that count.
  [[nodiscard]] static constexpr bool takes_no_mask() { return true; }
  [[nodiscard]] static constexpr bool passes_mask() { return false; }

  using global_pooling_layer<global_average_pooling1d, 2>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
};

}  // namespace stagecraft::layers
