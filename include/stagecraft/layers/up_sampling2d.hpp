// SPDX-License-Identifier: BSD-3-Clause
// Makes an image larger by whole factors: tf.keras.layers.UpSampling2D. Level 2.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/interpolation.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/size_2d.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of UpSampling2D behind `size`.
struct up_sampling2d_options {
  /// Whether pixels are repeated (`nearest`) or interpolated (`bilinear`).
  stagecraft::interpolation interpolation = interpolation::nearest;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
};

/// Makes an image `size` times as high and as wide (default 2), by repeating its pixels or by bilinear interpolation.
///
/// Shape: (height, width, channels) to (size.height * height, size.width * width, channels). No weights. Channels are
/// the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling2d; TensorFlow's image.resize with half-pixel centres.
struct up_sampling2d : layer<up_sampling2d> {
  static constexpr std::string_view class_name = "UpSampling2D";
  static constexpr std::string_view usage =
      "up_sampling2d{size} or up_sampling2d{size, {.interpolation = sc::interpolation::bilinear, .name = ...}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  size_2d size;
  stagecraft::interpolation interpolation{};

  constexpr up_sampling2d() : up_sampling2d(size_2d(2), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int both) : up_sampling2d(size_2d(both), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int const (&each)[2]) : up_sampling2d(size_2d(each[0], each[1])) {}
  constexpr explicit up_sampling2d(size_2d const& size_) : up_sampling2d(size_, up_sampling2d_options{}) {}
  constexpr up_sampling2d(size_2d const& size_, up_sampling2d_options const& options)
      : size(size_), interpolation(options.interpolation) {
    layer_name = options.name;
    trainable = options.trainable;
  }

  /// Anything else: E1025.
  using layer::layer;
  template <class L = up_sampling2d>
  constexpr explicit up_sampling2d(detail::wrong_options, ...) : up_sampling2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (size.height < 1 || size.width < 1)
      return in.error(1046, "has a size of ", size, "; each number must be at least 1");
    if (in[0].rank() != 3)
      return in.error(1041, "expects an input of shape (height, width, channels), but got ", in[0]);
    return {size.height * in[0][0], size.width * in[0][1], in[0][2]};
  }
  /// Bilinear: three interpolations of three FLOPs each per element.
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const {
    return interpolation == interpolation::nearest ? 0 : 9LL * size.area() * in[0].size();
  }
};

}  // namespace stagecraft::layers
