// SPDX-License-Identifier: BSD-3-Clause
// Layers that see images through a random map of their places while training.
// Keras counterpart: RandomRotation, RandomTranslation and RandomZoom of tf.keras.layers; their base: `transform` in
// layers/preprocessing/image_preprocessing.
#pragma once

#include <stagecraft/layers/interpolation.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/preprocessing/image_augmentation.hpp>
#include <cstdint>

namespace stagecraft {

/// The continuation of an image (a b c d) beyond its borders.
enum class fill_mode : unsigned char {
  reflect,   ///< d c b a, a b c d, d c b a
  constant,  ///< a number everywhere
  wrap,      ///< a b c d, a b c d, a b c d
  nearest,   ///< a a a a, a b c d, d d d d
};

}  // namespace stagecraft

namespace stagecraft::layers {

/// Keras's keyword arguments of RandomTranslation, RandomRotation and RandomZoom.
struct random_warp_options {
  stagecraft::fill_mode fill_mode = fill_mode::reflect;  ///< the continuation of an image beyond its borders
  /// `bilinear` between pixels, or the `nearest` pixel.
  stagecraft::interpolation interpolation = interpolation::bilinear;
  std::uint64_t seed = 0;  ///< the seed of random numbers; 0: the trainer's seed
  float fill_value = 0;    ///< the number beyond the borders, with fill_mode::constant
#include <stagecraft/layers/common_options.hpp>
};

/// Base of random_translation, random_rotation and random_zoom, which see each image through a map of its places.
/// While training, pixel (row, column) of an image is that of the input at `derived().places(ops, row, column)`, two
/// tensors that broadcast to (batch, height, width); each image has random numbers of its own. At inference the input
/// passes unchanged.
///
/// Shape: (height, width, channels), unchanged. No weights. Cost: some 30 FLOPs per element. Errors: E1001; E1041 for
/// an input of another number of axes; E1046 for another interpolation; E1076 for a factor out of its range.
template <class Derived>
struct random_warp_layer : argument_layer<Derived, random_warp_options> {
  using argument_layer<Derived, random_warp_options>::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    auto const& derived = static_cast<Derived const&>(*this);
    if (this->options.interpolation > interpolation::bilinear)
      ops.error(1046, "has an interpolation that is neither nearest nor bilinear");
    else if (!derived.is_valid())
      ops.error(1076, "has a factor that is out of its range");
    else if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else if (ops.training())
      return seen(ops, x, derived.places(ops, image{x.length(0), x.length(1), x.length(2)}));
    return x;
  }

 protected:
  /// The sizes of the images, and places in them.
  struct image {
    int batch, height, width;

    [[nodiscard]] constexpr auto row(auto& ops) const { return ops.iota({1, height, 1}, 1); }
    [[nodiscard]] constexpr auto column(auto& ops) const { return ops.iota({1, 1, width}, 2); }
    /// A random number from a range for each image.
    [[nodiscard]] constexpr auto drawn(auto& ops, factor_range const& from, std::uint64_t seed) const {
      return ops.uniform({batch, 1, 1}, seed) * (from.upper - from.lower) + from.lower;
    }
  };
  /// The rows and columns of the input that the pixels of the output show.
  template <class Tensor>
  struct place {
    Tensor row, column;
  };
  template <class Tensor>
  place(Tensor, Tensor) -> place<Tensor>;

 private:
  /// A place along an axis of some length, mapped by the fill mode.
  [[nodiscard]] constexpr auto mapped(auto at, int length) const {
    auto const last = static_cast<float>(length - 1), all = static_cast<float>(length);
    auto const kept = [&](auto inside) { return stagecraft::maximum(stagecraft::minimum(inside, last), 0.0F); };
    switch (this->options.fill_mode) {
      case fill_mode::constant: return at;
      case fill_mode::nearest: return kept(at);
      case fill_mode::wrap: {
        if (length == 1) return at * 0.0F;
        auto const turns = floor(abs(at) / last);
        return kept(where(at < 0.0F, at + (turns + 1.0F) * all, where(at > last, at - turns * all, at)));
      }
      default: {
        auto const there = at - floor(at / (2 * all)) * (2 * all);
        return kept(where(there >= all, 2 * all - 1.0F - there, there));
      }
    }
  }
  constexpr auto seen(auto& ops, auto x, auto const& places) const {
    int const batch = x.length(0), height = x.length(1), width = x.length(2), channels = x.length(3);
    operations::extents const pixels(batch, height, width), wide(batch, height, width, 1);
    auto const row = ops.broadcast(mapped(places.row, height), pixels);
    auto const column = ops.broadcast(mapped(places.column, width), pixels);
    auto const table = ops.reshape(x, {batch * height * width, channels});
    auto const first = ops.iota({batch, 1, 1}, 0) * static_cast<float>(height * width);
    auto const pixel = [&](auto r, auto c) {
      auto const inside = [](auto at, int length) {
        return stagecraft::maximum(stagecraft::minimum(at, static_cast<float>(length - 1)), 0.0F);
      };
      auto const near_r = inside(r, height), near_c = inside(c, width);
      auto const found = ops.take(table, first + near_r * static_cast<float>(width) + near_c);
      if (this->options.fill_mode != fill_mode::constant) return found;
      return where(ops.reshape(equal(near_r, r) * equal(near_c, c), wide), found, this->options.fill_value);
    };
    if (this->options.interpolation == interpolation::nearest) return pixel(floor(row + 0.5F), floor(column + 0.5F));
    auto const above = floor(row), left = floor(column);
    auto const down = ops.reshape(row - above, wide), right = ops.reshape(column - left, wide);
    auto const between = [](auto a, auto b, auto share) { return a + (b - a) * share; };
    return between(between(pixel(above, left), pixel(above, left + 1.0F), right),
                   between(pixel(above + 1.0F, left), pixel(above + 1.0F, left + 1.0F), right), down);
  }
};

/// Turns images by random angles while training: tf.keras.layers.RandomRotation.
/// Turns each image about its middle by a random share of 360 degrees, counter-clockwise if it is positive;
/// see random_warp_layer. Definition: Keras API, layers/preprocessing_layers/image_augmentation/random_rotation.
struct random_rotation : random_warp_layer<random_rotation> {
  static constexpr std::string_view class_name = "RandomRotation";
  static constexpr std::string_view usage =
      "random_rotation{factor} or random_rotation{{-0.1, 0.2}, {.seed = 3, ...}}"sv;

  factor_range factor;
  using arguments = argument_list<&random_rotation::factor>;

  constexpr explicit random_rotation(factor_range const& factor_, random_warp_options const& options_ = {})
      : random_warp_layer(with{}, options_), factor(factor_) {}
  using random_warp_layer::random_warp_layer;

  [[nodiscard]] constexpr bool is_valid() const { return factor.is_within(-1e6F, 1e6F); }
  constexpr auto places(auto& ops, image const& of) const {
    auto const angle = of.drawn(ops, factor, options.seed) * 6.28318531F;
    auto const c = cos(angle), s = sin(angle);
    float const middle_row = static_cast<float>(of.height - 1) / 2,
                middle_column = static_cast<float>(of.width - 1) / 2;
    auto const down = of.row(ops) - middle_row, right = of.column(ops) - middle_column;
    return place{right * s + down * c + middle_row, right * c - down * s + middle_column};
  }
};

/// Moves images by random distances while training: tf.keras.layers.RandomTranslation.
/// Moves each image down and to the right by random shares of its height and width; see random_warp_layer.
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

/// Makes what images show larger or smaller at random while training: tf.keras.layers.RandomZoom.
/// Zooms each image about its middle by 1 + a random factor: out if it is positive, in if it is negative; see
/// random_warp_layer. If there is no width_factor, both axes have one number. Factors lie between -1 and 1. Definition:
/// Keras API, layers/preprocessing_layers/image_augmentation/random_zoom.
struct random_zoom : random_warp_layer<random_zoom> {
  static constexpr std::string_view class_name = "RandomZoom";
  static constexpr std::string_view usage =
      "random_zoom{height_factor}, random_zoom{height_factor, width_factor} or random_zoom{0.1, 0.2, {.seed = "
      "3, ...}}"sv;

  factor_range height_factor, width_factor;
  bool keeps_shapes = true;  ///< true if both axes have one number
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
