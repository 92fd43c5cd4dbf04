// SPDX-License-Identifier: BSD-3-Clause
// Changes the contrast of images at random while training: tf.keras.layers.RandomContrast.
#pragma once

#include <stagecraft/layers/argument_layer.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/preprocessing/factor_range.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// Keras's keyword arguments of RandomContrast behind the factor.
struct random_contrast_options {
  std::uint64_t seed = 0;  ///< what random numbers are drawn from; 0: the trainer's seed
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

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

}  // namespace stagecraft::layers
