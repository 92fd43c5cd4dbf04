// SPDX-License-Identifier: BSD-3-Clause
// Makes an image larger by whole factors: tf.keras.layers.UpSampling2D.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
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
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// Makes an image `size` times as high and as wide (default 2), by repeating its pixels or by bilinear interpolation.
///
/// Shape: (height, width, channels) to (size.height * height, size.width * width, channels). No weights. Channels are
/// the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1, or
/// above 256 with bilinear interpolation, or another interpolation; E1070 for more pixels in a row than an int counts.
/// Definition: Keras API, layers/reshaping_layers/up_sampling2d; TensorFlow's image.resize with half-pixel centres.
struct up_sampling2d : layer<up_sampling2d> {
  static constexpr std::string_view class_name = "UpSampling2D";
  static constexpr std::string_view usage =
      "up_sampling2d{size} or up_sampling2d{size, {.interpolation = sc::interpolation::bilinear, .name = ...}}"sv;

  size_2d size;
  stagecraft::interpolation interpolation{};
  using arguments = argument_list<&up_sampling2d::size, &up_sampling2d::interpolation>;

  constexpr up_sampling2d() : up_sampling2d(size_2d(2), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int both) : up_sampling2d(size_2d(both), up_sampling2d_options{}) {}
  constexpr explicit up_sampling2d(int const (&each)[2]) : up_sampling2d(size_2d(each[0], each[1])) {}
  constexpr explicit up_sampling2d(size_2d const& size_) : up_sampling2d(size_, up_sampling2d_options{}) {}
  constexpr up_sampling2d(size_2d const& size_, up_sampling2d_options const& options)
      : size(size_), interpolation(options.interpolation) {
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Anything else: E1025.
  using layer::layer;
  template <class L = up_sampling2d>
  constexpr explicit up_sampling2d(detail::wrong_options, ...) : up_sampling2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (size.height < 1 || size.width < 1)
      ops.error(1046, "has a size of ", size, "; each number must be at least 1");
    else if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else if (interpolation > interpolation::bilinear)
      ops.error(1046, "has an interpolation that is neither nearest nor bilinear; `resizing` has others");
    else if (interpolation == interpolation::bilinear && (size.height > most_bilinear || size.width > most_bilinear))
      ops.error(1046, "has a size of ", size, "; with bilinear interpolation each number is at most ", most_bilinear);
    else if (1LL * size.height * x.length(1) > __INT_MAX__ || 1LL * size.width * x.length(2) > __INT_MAX__)
      ops.error(1070, "has a result of more pixels in a row than an int counts");
    else if (interpolation == interpolation::nearest)
      return ops.repeat(ops.repeat(x, size.height, 1), size.width, 2);
    else
      return interpolated(ops, interpolated(ops, x, 1, size.height), 2, size.width);
    return x;
  }

 private:
  /// The largest factor between pixels: each place between two of them is an operation of its own.
  static constexpr int most_bilinear = 256;

  /// Each place becomes `factor` places, between it and the one before or after, with half-pixel centres; beyond the
  /// ends are the outermost places.
  static constexpr auto interpolated(auto& ops, auto x, int axis, int factor) {
    int const length = x.length(axis);
    auto const wide = ops.concatenate({ops.slice(x, axis, 0, 1), x, ops.slice(x, axis, length - 1, 1)}, axis);
    operations::extents one = x.shape(), all = x.shape();
    one.insert(axis + 1, 1);
    all[axis] *= factor;
    tracing::growing_array<operations::tensor> parts;
    for (int i = 0; i < factor; ++i) {
      float const place = (static_cast<float>(i) + 0.5F) / static_cast<float>(factor) + 0.5F;  // 1 is x itself
      int const before = static_cast<int>(place);
      float const weight = place - static_cast<float>(before);
      auto part = ops.slice(wide, axis, before, length);
      if (weight > 0) part = part + (ops.slice(wide, axis, before + 1, length) - part) * weight;
      parts.push_back(ops.reshape(part, one));
    }
    return ops.reshape(ops.concatenate(parts, axis + 1), all);
  }
};

}  // namespace stagecraft::layers
