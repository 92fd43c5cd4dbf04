// SPDX-License-Identifier: BSD-3-Clause
// Layers that bring images to one size and range: tf.keras.layers.Resizing, CenterCrop and Rescaling.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/interpolation.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Resizing after the sizes.
struct resizing_options {
  /// The rule that computes pixels from those of the input.
  stagecraft::interpolation interpolation = interpolation::bilinear;
  /// True if the largest part in the middle with the new size's aspect ratio is cut out first, so that nothing is
  /// stretched.
  bool crop_to_aspect_ratio = false;
#include <stagecraft/layers/common_options.hpp>
};

/// Images of another height and width: tf.keras.layers.Resizing.
/// Each pixel is a weighted mean of the pixels around its place, whose weights are a function of their distances: a
/// product with a matrix along each axis. Centres of pixels lie at halves; there is nothing beyond the ends, and
/// weights add up to 1.
///
/// Shape: (rows, columns, channels) to (height, width, channels). No weights. Cost: two products. Errors: E1001; E1012
/// for a size below 1; E1041 for an input of another number of axes.
/// Definition: Keras API, layers/preprocessing_layers/image_preprocessing/resizing; TensorFlow's image.resize.
struct resizing : argument_layer<resizing, resizing_options> {
  static constexpr std::string_view class_name = "Resizing";
  static constexpr std::string_view usage =
      "resizing{height, width} or resizing{height, width, {.interpolation = sc::interpolation::nearest, .name "
      "= ...}}"sv;

  int height = 1, width = 1;
  using arguments = argument_list<&resizing::height, &resizing::width>;

  constexpr resizing(detail::whole_number height_, detail::whole_number width_, resizing_options const& options_ = {})
      : argument_layer(with{}, options_), height(height_), width(width_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 4)
      return ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x)),
             x;
    if (!detail::are_counts(height, width))
      return ops.error(1012, "resizes to ", height, " by ", width, "; both are ", detail::count_limit(height, width)),
             x;
    if (options.crop_to_aspect_ratio) {
      long long const rows = x.length(1), columns = x.length(2);
      x = middle(ops, middle(ops, x, 1, columns * height / width), 2, rows * width / height);
    }
    int const batch = x.length(0), columns = x.length(2), channels = x.length(3);
    auto const tall =
        ops.matmul(shares(ops, x.length(1), height), ops.reshape(x, {batch, x.length(1), columns * channels}));
    auto const rows = ops.reshape(tall, {batch * height, columns, channels});
    return ops.reshape(ops.matmul(shares(ops, columns, width), rows), {batch, height, width, channels});
  }

 private:
  /// The middle of an axis, at most `wanted` places.
  static constexpr auto middle(auto& ops, auto x, int axis, long long wanted) {
    int const length = x.length(axis), count = wanted < 1 ? 1 : wanted < length ? static_cast<int>(wanted) : length;
    return ops.slice(x, axis, (length - count) / 2, count);
  }
  /// The weights of each of `from` places in each of `to` places: (to, from).
  constexpr auto shares(auto& ops, int from, int to) const {
    float const scale = static_cast<float>(from) / static_cast<float>(to);
    auto const at = ops.iota({to, 1}, 0), source = ops.iota({1, from}, 1);
    if (options.interpolation == interpolation::nearest)
      return ops.broadcast(equal(floor((at + 0.5F) * scale), source), {to, from});
    if (options.interpolation == interpolation::area) {
      auto const end = stagecraft::minimum((at + 1.0F) * scale, source + 1.0F);
      return stagecraft::maximum(end - stagecraft::maximum(at * scale, source), 0.0F) / scale;
    }
    auto place = (at + 0.5F) * scale - 0.5F;
    if (options.interpolation == interpolation::bilinear)
      place = stagecraft::minimum(stagecraft::maximum(place, 0.0F), static_cast<float>(from - 1));
    auto const each = kernel(abs(place - source));
    return each / ops.sum(each, 1);
  }
  /// The weight at a distance.
  constexpr auto kernel(auto d) const {
    auto const near = [&](float a, float b, float c) { return ((a * d + b) * d * d) + c; };
    auto const within = [&](float radius, auto value) { return where(d < radius, value, 0.0F); };
    auto const lanczos = [&](float radius) {
      auto const angle = stagecraft::maximum(d, 1e-3F) * 3.14159265F;
      auto const value = sin(angle) * sin(angle / radius) * radius / (angle * angle);
      return within(radius, where(d < 1e-3F, 1.0F, value));
    };
    switch (options.interpolation) {
      case interpolation::bicubic:
        return where(d < 1.0F, near(1.5F, -2.5F, 1), within(2, ((-0.5F * d + 2.5F) * d - 4.0F) * d + 2.0F));
      case interpolation::mitchellcubic:
        return where(d < 1.0F, near(7.0F / 6, -2, 8.0F / 9),
                     within(2, ((-7.0F / 18 * d + 2.0F) * d - 10.0F / 3) * d + 16.0F / 9));
      case interpolation::lanczos3: return lanczos(3);
      case interpolation::lanczos5: return lanczos(5);
      case interpolation::gaussian: return within(1.499999F, exp(d * d * -2.0F));  // it is not 0 at 1.5
      default: return within(1, 1.0F - d);
    }
  }
};

/// The middle of an image: tf.keras.layers.CenterCrop.
/// Keeps `height` rows and `width` columns from the middle of an image; if the difference is odd, one more is cut at
/// the end.
///
/// Shape: (rows, columns, channels) to (height, width, channels). No weights, no arithmetic. Errors: E1001; E1041 for
/// an input of another number of axes; E1045 if the part does not fit into the image. Definition: Keras API,
/// layers/preprocessing_layers/image_preprocessing/center_crop.
struct center_crop : layer<center_crop> {
  static constexpr std::string_view class_name = "CenterCrop";
  static constexpr std::string_view usage = "center_crop{height, width}"sv;

  int height = 1, width = 1;
  using arguments = argument_list<&center_crop::height, &center_crop::width>;

  constexpr center_crop(detail::whole_number height_, detail::whole_number width_) : height(height_), width(width_) {}

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = center_crop>
  constexpr explicit center_crop(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                                 detail::wrong_options = {})
      : center_crop(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else if (height < 1 || width < 1 || height > x.length(1) || width > x.length(2))
      ops.error(1045, "crops to ", height, " by ", width, ", which is no part of an input of shape ",
                detail::sample_shape(x));
    else
      return ops.slice(ops.slice(x, 1, (x.length(1) - height) / 2, height), 2, (x.length(2) - width) / 2, width);
    return x;
  }
};

/// Keras's keyword arguments of Rescaling after the scale.
struct rescaling_options {
  float offset = 0;  ///< a number that is added to the product
#include <stagecraft/layers/common_options.hpp>
};

/// Multiplies by a number and adds one: tf.keras.layers.Rescaling.
/// output = input * scale + offset: `rescaling{1.0 / 255}` for the bytes of an image.
///
/// Shape unchanged, no weights. Errors: E1001. Definition: Keras API, layers/preprocessing_layers/image_preprocessing.
struct rescaling : argument_layer<rescaling, rescaling_options> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Rescaling";
  static constexpr std::string_view usage = "rescaling{scale} or rescaling{scale, {.offset = -1, .name = ...}}"sv;

  float scale = 1;
  using arguments = argument_list<&rescaling::scale>;

  constexpr explicit rescaling(double scale_, rescaling_options const& options_ = {})
      : argument_layer(with{}, options_), scale(static_cast<float>(scale_)) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto&, auto x) const { return x * scale + options.offset; }
};

}  // namespace stagecraft::layers
