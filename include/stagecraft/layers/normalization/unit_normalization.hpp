// SPDX-License-Identifier: BSD-3-Clause
// Divides by the Euclidean norm along axes: tf.keras.layers.UnitNormalization.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of UnitNormalization.
struct unit_normalization_options {
  axis_list axis = -1;  ///< the axes along which squares are added; 0 is the batch, -1 the last
#include <stagecraft/layers/common_options.hpp>
};

/// output = input / sqrt(max(sum of its squares along the axes, 1e-12)).
///
/// Shape unchanged, no weights. Errors: E1001; E1050 for an axis that the input does not have.
/// Definition: Keras API, layers/normalization_layers/unit_normalization.
struct unit_normalization
    : option_layer<unit_normalization, unit_normalization_options, &unit_normalization_options::axis> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "UnitNormalization";
  static constexpr std::string_view usage =
      "unit_normalization{} or unit_normalization{{.axis = {1, 2}, .name = ...}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    for (int const axis : options.axis)
      if (!x.shape().has(axis))
        return ops.error(1050, "normalizes along axis ", axis, ", which is not an axis of an input of shape ",
                         detail::sample_shape(x)),
               x;
    return x * rsqrt(stagecraft::maximum(ops.sum(square(x), options.axis), 1e-12F));
  }
};

}  // namespace stagecraft::layers
