// SPDX-License-Identifier: BSD-3-Clause
// Multiplies by a number and adds one: tf.keras.layers.Rescaling.
#pragma once

#include <stagecraft/layers/argument_layer.hpp>
#include <stagecraft/layers/argument_list.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Rescaling behind the scale.
struct rescaling_options {
  float offset = 0;  ///< what is added to the product
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = input * scale + offset: `rescaling{1.0 / 255}` for the bytes of an image.
///
/// Shape unchanged, no weights. Errors: E1001. Definition: Keras API, layers/preprocessing_layers/image_preprocessing.
struct rescaling : argument_layer<rescaling, rescaling_options> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Rescaling";
  static constexpr std::string_view usage = "rescaling{scale} or rescaling{scale, {.offset = -1, .name = ...}}"sv;

  float scale = 1;
  using arguments = argument_list<&rescaling::scale>;

  constexpr explicit rescaling(double scale_, rescaling_options const& options_ = {})
      : argument_layer(with{}, options_), scale(static_cast<float>(scale_)) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto&, auto x) const { return x * scale + options.offset; }
};

}  // namespace stagecraft::layers
