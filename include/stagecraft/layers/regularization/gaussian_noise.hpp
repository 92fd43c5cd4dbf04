// SPDX-License-Identifier: BSD-3-Clause
// Adds normal random numbers while training: tf.keras.layers.GaussianNoise.
#pragma once

#include <stagecraft/layers/regularization/noise_layer.hpp>

namespace stagecraft::layers {

/// While training, input + a number of mean 0 and this standard deviation for each element; see noise_layer.
/// Definition: Keras API, layers/regularization_layers/gaussian_noise.
struct gaussian_noise : noise_layer<gaussian_noise, 1000000> {
  static constexpr std::string_view class_name = "GaussianNoise";
  static constexpr std::string_view usage = "gaussian_noise{stddev} or gaussian_noise{stddev, seed}"sv;

  using noise_layer<gaussian_noise, 1000000>::noise_layer;

  constexpr auto noisy(auto& ops, auto x) const { return x + ops.normal(x.shape(), seed) * amount; }
};

}  // namespace stagecraft::layers
