// SPDX-License-Identifier: BSD-3-Clause
// Random parts of images while training: tf.keras.layers.RandomCrop.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/preprocessing/resizing.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// Keras's keyword arguments of RandomCrop behind the sizes.
struct random_crop_options {
  std::uint64_t seed = 0;  ///< what random numbers are drawn from; 0: the trainer's seed
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// While training, the part of the images that begins at a place that is drawn, one for a batch. At inference the
/// images are resized until one side fits, and their middle is kept.
///
/// Shape: (rows, columns, channels) to (height, width, channels). No weights. Errors: E1001; E1041 for an input of
/// another number of axes; E1045 if it is no part of the image.
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
    auto const part = [&](int count, int of) {  // (count, of): 1 where an element of the part is one of all
      auto const begin = floor(ops.uniform({1, 1}, options.seed) * static_cast<float>(of - count + 1));
      return equal(ops.iota({count, 1}, 0) + begin, ops.iota({1, of}, 1));
    };
    auto const tall = ops.matmul(part(height, rows), ops.reshape(x, {batch, rows, columns * channels}));
    auto const all = ops.matmul(part(width, columns), ops.reshape(tall, {batch * height, columns, channels}));
    return ops.reshape(all, {batch, height, width, channels});
  }
};

}  // namespace stagecraft::layers
