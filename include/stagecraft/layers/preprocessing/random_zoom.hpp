// SPDX-License-Identifier: BSD-3-Clause
// Makes what images show larger or smaller at random while training: tf.keras.layers.RandomZoom.
#pragma once

#include <stagecraft/layers/preprocessing/random_warp_layer.hpp>

namespace stagecraft::layers {

/// Zooms each image about its middle by 1 + a factor that is drawn: out where it is positive, in where it is negative;
/// see random_warp_layer. Without a width_factor, one number for both axes. Factors lie between -1 and 1.
/// Definition: Keras API, layers/preprocessing_layers/image_augmentation/random_zoom.
struct random_zoom : random_warp_layer<random_zoom> {
  static constexpr std::string_view class_name = "RandomZoom";
  static constexpr std::string_view usage =
      "random_zoom{height_factor}, random_zoom{height_factor, width_factor} or random_zoom{0.1, 0.2, {.seed = "
      "3, ...}}"sv;

  factor_range height_factor, width_factor;
  bool keeps_shapes = true;  ///< one number for both axes
  using arguments = argument_list<&random_zoom::height_factor, &random_zoom::width_factor>;

  constexpr explicit random_zoom(factor_range const& both, random_warp_options const& options_ = {})
      : random_warp_layer(with{}, options_), height_factor(both), width_factor(both) {}
  constexpr random_zoom(factor_range const& height, factor_range const& width, random_warp_options const& options_ = {})
      : random_warp_layer(with{}, options_), height_factor(height), width_factor(width), keeps_shapes(false) {}
  using random_warp_layer::random_warp_layer;

  [[nodiscard]] constexpr bool is_valid() const {
    return height_factor.is_within(-1, 1) && width_factor.is_within(-1, 1e6F);
  }
  constexpr auto places(auto& ops, image const& of) const {
    auto const tall = of.drawn(ops, height_factor, options.seed) + 1.0F;
    auto const wide = keeps_shapes ? tall : of.drawn(ops, width_factor, options.seed) + 1.0F;
    float const middle_row = static_cast<float>(of.height - 1) / 2,
                middle_column = static_cast<float>(of.width - 1) / 2;
    return place{(of.row(ops) - middle_row) * tall + middle_row,
                 (of.column(ops) - middle_column) * wide + middle_column};
  }
};

}  // namespace stagecraft::layers
