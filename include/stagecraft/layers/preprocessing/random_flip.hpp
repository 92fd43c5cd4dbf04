// SPDX-License-Identifier: BSD-3-Clause
// Turns random images over while training: tf.keras.layers.RandomFlip.
#pragma once

#include <stagecraft/layers/option_layer.hpp>
#include <cstdint>

namespace stagecraft {

/// Which sides of an image may change places.
enum class flip_mode : unsigned char { horizontal_and_vertical, horizontal, vertical };

}  // namespace stagecraft

namespace stagecraft::layers {

/// Keras's keyword arguments of RandomFlip.
struct random_flip_options {
  flip_mode mode = flip_mode::horizontal_and_vertical;  ///< left and right, top and bottom, or both
  std::uint64_t seed = 0;                               ///< what random numbers are drawn from; 0: the trainer's seed
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// While training, each image is turned over with probability 1/2, along each axis of the mode; at inference the input
/// passes unchanged.
///
/// Shape: (height, width, channels), unchanged. No weights. Errors: E1001; E1041 for an input of another number of
/// axes. Definition: Keras API, layers/preprocessing_layers/image_augmentation/random_flip.
struct random_flip : option_layer<random_flip, random_flip_options, &random_flip_options::mode> {
  static constexpr std::string_view class_name = "RandomFlip";
  static constexpr std::string_view usage =
      "random_flip{} or random_flip{{.mode = sc::flip_mode::horizontal, .seed = 3, .name = ...}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 4)
      return ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x)),
             x;
    if (!ops.training()) return x;
    auto const flipped = [&](auto images, int axis) {
      auto const drawn = ops.uniform({x.length(0), 1, 1, 1}, options.seed);
      return where(drawn < 0.5F, ops.flip(images, axis), images);
    };
    if (options.mode != flip_mode::vertical) x = flipped(x, 2);
    if (options.mode != flip_mode::horizontal) x = flipped(x, 1);
    return x;
  }
};

}  // namespace stagecraft::layers
