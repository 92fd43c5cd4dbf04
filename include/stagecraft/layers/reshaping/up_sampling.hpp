// SPDX-License-Identifier: BSD-3-Clause
// Layers that make a sequence, an image or a volume larger by whole factors: tf.keras.layers.UpSampling1D and its like.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/interpolation.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/sizes.hpp>

namespace stagecraft::layers {

/// Repeats each step of a sequence: tf.keras.layers.UpSampling1D.
/// Each step is repeated `size` times (default 2).
///
/// Shape: (steps, channels) to (size * steps, channels). No weights, no arithmetic.
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling1d.
struct up_sampling1d : layer<up_sampling1d> {
  static constexpr std::string_view class_name = "UpSampling1D";
  static constexpr std::string_view usage = "up_sampling1d{size}"sv;

  int size = 2;
  using arguments = argument_list<&up_sampling1d::size>;

  constexpr explicit up_sampling1d(int size_ = 2) : size(size_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = up_sampling1d>
  constexpr explicit up_sampling1d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : up_sampling1d(2) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (size < 1)
      ops.error(1046, "has a size of ", size, "; it must be at least 1");
    else if (x.rank() != 3)
      ops.error(1041, "expects an input of shape (steps, channels), but got ", detail::sample_shape(x));
    else
      return ops.repeat(x, size, 1);
    return x;
  }
};

/// Keras's keyword arguments of UpSampling2D after `size`.
struct up_sampling2d_options {
  /// The interpolation: pixels are repeated (`nearest`) or interpolated (`bilinear`).
  stagecraft::interpolation interpolation = interpolation::nearest;
#include <stagecraft/layers/common_options.hpp>
};

/// Makes an image larger by whole factors: tf.keras.layers.UpSampling2D.
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
    take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = up_sampling2d>
  constexpr explicit up_sampling2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : up_sampling2d() {
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
  /// The largest bilinear factor: each place between two pixels is an operation of its own.
  static constexpr int most_bilinear = 256;

  /// Each place becomes `factor` places, interpolated with the place before or after it, with half-pixel centres; the
  /// outermost places continue beyond the ends.
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

/// Repeats each cell of a volume: tf.keras.layers.UpSampling3D.
/// Makes a volume `size` times as deep, high and wide (default 2) by repeating its cells.
///
/// Shape: (depth, height, width, channels) to the lengths times size. No weights, no arithmetic. Channels are the last
/// axis. Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling3d.
struct up_sampling3d : layer<up_sampling3d> {
  static constexpr std::string_view class_name = "UpSampling3D";
  static constexpr std::string_view usage = "up_sampling3d{size} or up_sampling3d{{1, 2, 2}}"sv;

  size_3d size = 2;
  using arguments = argument_list<&up_sampling3d::size>;

  constexpr up_sampling3d() = default;
  constexpr explicit up_sampling3d(int all) : size(all) {}
  constexpr explicit up_sampling3d(int const (&each)[3]) : size(each[0], each[1], each[2]) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = up_sampling3d>
  constexpr explicit up_sampling3d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : up_sampling3d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (size.depth < 1 || size.height < 1 || size.width < 1)
      return ops.error(1046, "has a size of ", size, "; each number must be at least 1"), x;
    if (x.rank() != 5)
      return ops.error(1041, "expects an input of shape (depth, height, width, channels), but got ",
                       detail::sample_shape(x)),
             x;
    for (int axis = 0; axis < 3; ++axis) x = ops.repeat(x, size[axis], axis + 1);
    return x;
  }
};

}  // namespace stagecraft::layers
