// SPDX-License-Identifier: BSD-3-Clause
// Moves images by random distances while training: tf.keras.layers.RandomTranslation.
#pragma once

#include <stagecraft/layers/preprocessing/random_warp_layer.hpp>

namespace stagecraft::layers {

/// Moves each image down and to the right by shares of its height and width that are drawn; see random_warp_layer.
/// Factors lie between -1 and 1. Definition: Keras API, layers/preprocessing_layers/image_augmentation.
struct random_translation : random_warp_layer<random_translation> {
  static constexpr std::string_view class_name = "RandomTranslation";
  static constexpr std::string_view usage =
      "random_translation{height_factor, width_factor} or random_translation{0.1, {-0.2, 0.3}, {.seed = 3, ...}}"sv;

  factor_range height_factor, width_factor;
  using arguments = argument_list<&random_translation::height_factor, &random_translation::width_factor>;

  constexpr random_translation(factor_range const& height, factor_range const& width,
                               random_warp_options const& options_ = {})
      : random_warp_layer(with{}, options_), height_factor(height), width_factor(width) {}
  using random_warp_layer::random_warp_layer;

  [[nodiscard]] constexpr bool is_valid() const {
    return height_factor.is_within(-1, 1) && width_factor.is_within(-1, 1);
  }
  constexpr auto places(auto& ops, image const& of) const {
    auto const down = of.drawn(ops, height_factor, options.seed) * static_cast<float>(of.height);
    auto const right = of.drawn(ops, width_factor, options.seed) * static_cast<float>(of.width);
    return place{of.row(ops) - down, of.column(ops) - right};
  }
};

}  // namespace stagecraft::layers
