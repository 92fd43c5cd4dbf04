// SPDX-License-Identifier: BSD-3-Clause
// Multiplies by normal random numbers while training: tf.keras.layers.GaussianDropout.
#pragma once

#include <stagecraft/layers/regularization/noise_layer.hpp>

namespace stagecraft::layers {

/// While training, input * a number of mean 1 and standard deviation sqrt(rate / (1 - rate)) for each element, which
/// have the deviation that dropout has; see noise_layer.
/// Definition: Keras API, layers/regularization_layers/gaussian_dropout; Srivastava and others, 2014.
struct gaussian_dropout : noise_layer<gaussian_dropout, 1> {
  static constexpr std::string_view class_name = "GaussianDropout";
  static constexpr std::string_view usage = "gaussian_dropout{rate} or gaussian_dropout{rate, seed}"sv;

  using noise_layer<gaussian_dropout, 1>::noise_layer;

  constexpr auto noisy(auto& ops, auto x) const {
    auto const drawn = ops.normal(x.shape(), seed);
    return x * (drawn * sqrt(ops.full({1}, amount / (1 - amount))) + 1.0F);
  }
};

}  // namespace stagecraft::layers
