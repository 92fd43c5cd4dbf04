// SPDX-License-Identifier: BSD-3-Clause
// An activation function as a layer of its own: tf.keras.layers.Activation. Level 2.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/layer.hpp>

namespace stagecraft::layers {

/// Applies an activation: `activation{sc::relu}`. Shape unchanged, no weights, about one FLOP per element.
/// Definition: Keras API, layers/core_layers/activation.
struct activation : layer<activation> {
  static constexpr std::string_view class_name = "Activation";

  stagecraft::activation function;

  constexpr explicit activation(stagecraft::activation function_) : function(function_) {}

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    return in[0];
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return in[0].size(); }
};

}  // namespace stagecraft::layers
