// SPDX-License-Identifier: BSD-3-Clause
// A dropout that keeps mean and variance, for networks with selu: tf.keras.layers.AlphaDropout.
#pragma once

#include <stagecraft/layers/regularization/noise_layer.hpp>

namespace stagecraft::layers {

/// While training, each element is with probability `rate` what selu gives far below 0; then all are scaled and shifted
/// so that inputs of mean 0 and variance 1 keep these; see noise_layer.
/// Definition: Keras API, layers/regularization_layers/alpha_dropout; Klambauer and others, 2017.
struct alpha_dropout : noise_layer<alpha_dropout, 1> {
  static constexpr std::string_view class_name = "AlphaDropout";
  static constexpr std::string_view usage = "alpha_dropout{rate} or alpha_dropout{rate, seed}"sv;

  using noise_layer<alpha_dropout, 1>::noise_layer;

  constexpr auto noisy(auto& ops, auto x) const {
    constexpr float lowest = -1.6732632423543772F * 1.0507009873554805F;
    auto const scale = rsqrt(ops.full({1}, (1 - amount) * (1 + amount * lowest * lowest)));
    auto const drawn = ops.uniform(x.shape(), seed);
    return (where(drawn >= amount, x, lowest) - lowest * amount) * scale;
  }
};

}  // namespace stagecraft::layers
