// SPDX-License-Identifier: BSD-3-Clause
// A dropout that keeps mean and variance, for networks with selu: tf.keras.layers.AlphaDropout.
#pragma once

#include <stagecraft/layers/regularization/noise_layer.hpp>
#include <stagecraft/layers/regularization/noise_shape.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// While training, each element is with probability `rate` what selu gives far below 0; then all are scaled and shifted
/// so that inputs of mean 0 and variance 1 keep these; see noise_layer. A noise_shape is that of dropout (E1013).
/// Definition: Keras API, layers/regularization_layers/alpha_dropout; Klambauer and others, 2017.
struct alpha_dropout : noise_layer<alpha_dropout, 1> {
  static constexpr std::string_view class_name = "AlphaDropout";
  static constexpr std::string_view usage =
      "alpha_dropout{rate}, alpha_dropout{rate, seed} or "
      "alpha_dropout{rate, sc::shape{1, 1, 1}}"sv;

  /// Keras's option without the samples: for each axis its length, or 1 where elements are dropped together. Empty:
  /// each element by itself.
  shape noise_shape = {};
  using arguments = argument_list<&alpha_dropout::amount, &alpha_dropout::noise_shape>;

  using noise_layer<alpha_dropout, 1>::noise_layer;
  constexpr alpha_dropout(double rate, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : noise_layer(rate, seed_), noise_shape(noise_shape_) {}

  constexpr bool fits(auto& ops, auto x) const {
    bool const does = detail::noise_fits(x, noise_shape);
    if (!does)
      ops.error(1013, "has a noise_shape of ", noise_shape, ", but must have as many lengths as its input ",
                detail::sample_shape(x), " has, each of them the input's or 1");
    return does;
  }
  constexpr auto noisy(auto& ops, auto x) const {
    constexpr float lowest = -1.6732632423543772F * 1.0507009873554805F;
    auto const scale = rsqrt(ops.full({1}, (1 - amount) * (1 + amount * lowest * lowest)));
    auto const drawn = ops.uniform(detail::noise_of(x, noise_shape), seed);
    return (where(drawn >= amount, x, lowest) - lowest * amount) * scale;
  }
};

}  // namespace stagecraft::layers
