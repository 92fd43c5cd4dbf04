// SPDX-License-Identifier: BSD-3-Clause
// Layers that change images at random while training, and nothing otherwise: parts, mirror images, contrast.
// Keras counterpart: RandomCrop, RandomFlip and RandomContrast of tf.keras.layers.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/preprocessing/image_preprocessing.hpp>
#include <cstdint>

namespace stagecraft {

namespace layers {

/// Keras's keyword arguments of RandomCrop after the sizes.
struct random_crop_options {
  std::uint64_t seed = 0;  ///< the seed of random numbers; 0: the trainer's seed
#include <stagecraft/layers/common_options.hpp>
};

/// Random parts of images while training: tf.keras.layers.RandomCrop.
/// While training, the part begins at a random place, one for a batch. At inference the
/// images are resized until one side fits, and their middle is kept.
///
/// Shape: (rows, columns, channels) to (height, width, channels). No weights. Errors: E1001; E1041 for an input of
/// another number of axes; E1045 if the part does not fit into the image.
/// Definition: Keras API, layers/preprocessing_layers/image_augmentation/random_crop.
struct random_crop : argument_layer<random_crop, random_crop_options> {
  static constexpr std::string_view class_name = "RandomCrop";
  static constexpr std::string_view usage =
      "random_crop{height, width} or random_crop{height, width, {.seed = 3, ...}}"sv;

  int height = 1, width = 1;
  using arguments = argument_list<&random_crop::height, &random_crop::width>;

  constexpr random_crop(detail::whole_number height_, detail::whole_number width_,
                        random_crop_options const& options_ = {})
      : argument_layer(with{}, options_), height(height_), width(width_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 4)
      return ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x)),
             x;
    int const batch = x.length(0), rows = x.length(1), columns = x.length(2), channels = x.length(3);
    if (height < 1 || width < 1 || height > rows || width > columns)
      return ops.error(1045, "crops to ", height, " by ", width, ", which is no part of an input of shape ",
                       detail::sample_shape(x)),
             x;
    if (!ops.training()) {
      bool const is_tall = rows * width > columns * height;
      int const tall = is_tall ? width * rows / columns : height, wide = is_tall ? width : height * columns / rows;
      auto const resized = resizing(tall, wide).call(ops, x);
      return ops.slice(ops.slice(resized, 1, (tall - height) / 2, height), 2, (wide - width) / 2, width);
    }
    auto const part = [&](int count,
                          int of) {  // (count, of): 1 where an element of the part is that element of the image
      auto const begin = floor(ops.uniform({1, 1}, options.seed) * static_cast<float>(of - count + 1));
      return equal(ops.iota({count, 1}, 0) + begin, ops.iota({1, of}, 1));
    };
    auto const tall = ops.matmul(part(height, rows), ops.reshape(x, {batch, rows, columns * channels}));
    auto const all = ops.matmul(part(width, columns), ops.reshape(tall, {batch * height, columns, channels}));
    return ops.reshape(all, {batch, height, width, channels});
  }
};

}  // namespace layers

/// The sides of an image that may change places.
enum class flip_mode : unsigned char { horizontal_and_vertical, horizontal, vertical };

namespace layers {

/// Keras's keyword arguments of RandomFlip.
struct random_flip_options {
  flip_mode mode = flip_mode::horizontal_and_vertical;  ///< left and right, top and bottom, or both
  std::uint64_t seed = 0;                               ///< the seed of random numbers; 0: the trainer's seed
#include <stagecraft/layers/common_options.hpp>
};

/// Turns random images over while training: tf.keras.layers.RandomFlip.
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

/// Keras's keyword arguments of RandomContrast after the factor.
struct random_contrast_options {
  std::uint64_t seed = 0;  ///< the seed of random numbers; 0: the trainer's seed
#include <stagecraft/layers/common_options.hpp>
};

/// Changes the contrast of images at random while training: tf.keras.layers.RandomContrast.
/// While training, (input - mean) * f + mean, with the mean of each channel of each image, and one f for a batch from
/// [1 - lower, 1 + upper]: a factor of 0.2 is {0.2, 0.2}. At inference the input passes unchanged.
///
/// Shape: (height, width, channels), unchanged. No weights. Errors: E1001; E1041 for an input of another number of
/// axes; E1076 for a factor that is negative, or a lower one above 1. Definition: Keras API,
/// layers/preprocessing_layers/image_augmentation/random_contrast.
struct random_contrast : argument_layer<random_contrast, random_contrast_options> {
  static constexpr std::string_view class_name = "RandomContrast";
  static constexpr std::string_view usage =
      "random_contrast{factor} or random_contrast{{0.1, 0.2}, {.seed = 3, ...}}"sv;

  factor_range factor;
  using arguments = argument_list<&random_contrast::factor>;

  constexpr explicit random_contrast(double both, random_contrast_options const& options_ = {})
      : random_contrast(factor_range(both, both), options_) {}
  constexpr explicit random_contrast(factor_range const& factor_, random_contrast_options const& options_ = {})
      : argument_layer(with{}, options_), factor(factor_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (!(factor.lower >= 0.0F && factor.lower <= 1.0F && factor.upper >= 0.0F))
      return ops.error(1076, "has a factor that is negative, or a lower one above 1"), x;
    if (x.rank() != 4)
      return ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x)),
             x;
    if (!ops.training()) return x;
    auto const drawn = ops.uniform({1, 1, 1, 1}, options.seed) * (factor.lower + factor.upper) + (1.0F - factor.lower);
    auto const mean = ops.mean(x, {1, 2});
    return (x - mean) * drawn + mean;
  }
};

}  // namespace layers

}  // namespace stagecraft
