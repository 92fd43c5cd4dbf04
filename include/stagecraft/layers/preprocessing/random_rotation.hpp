// SPDX-License-Identifier: BSD-3-Clause
// Turns images by random angles while training: tf.keras.layers.RandomRotation.
#pragma once

#include <stagecraft/layers/preprocessing/random_warp_layer.hpp>

namespace stagecraft::layers {

/// Turns each image about its middle by a share of 360 degrees that is drawn, counter-clockwise where it is positive;
/// see random_warp_layer. Definition: Keras API, layers/preprocessing_layers/image_augmentation/random_rotation.
struct random_rotation : random_warp_layer<random_rotation> {
  static constexpr std::string_view class_name = "RandomRotation";
  static constexpr std::string_view usage =
      "random_rotation{factor} or random_rotation{{-0.1, 0.2}, {.seed = 3, ...}}"sv;

  factor_range factor;
  using arguments = argument_list<&random_rotation::factor>;

  constexpr explicit random_rotation(factor_range const& factor_, random_warp_options const& options_ = {})
      : random_warp_layer(with{}, options_), factor(factor_) {}
  using random_warp_layer::random_warp_layer;

  [[nodiscard]] constexpr bool is_valid() const { return factor.is_within(-1e6F, 1e6F); }
  constexpr auto places(auto& ops, image const& of) const {
    auto const angle = of.drawn(ops, factor, options.seed) * 6.28318531F;
    auto const c = cos(angle), s = sin(angle);
    float const middle_row = static_cast<float>(of.height - 1) / 2,
                middle_column = static_cast<float>(of.width - 1) / 2;
    auto const down = of.row(ops) - middle_row, right = of.column(ops) - middle_column;
    return place{right * s + down * c + middle_row, right * c - down * s + middle_column};
  }
};

}  // namespace stagecraft::layers
