// SPDX-License-Identifier: BSD-3-Clause
// What random_translation, random_rotation and random_zoom have in common: each image is seen through a map of its
// places. Keras counterpart: `transform` in layers/preprocessing/image_preprocessing.
#pragma once

#include <stagecraft/layers/argument_layer.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/interpolation.hpp>
#include <stagecraft/layers/preprocessing/factor_range.hpp>
#include <cstdint>

namespace stagecraft {

/// What lies beyond the borders of an image (a b c d).
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
  stagecraft::fill_mode fill_mode = fill_mode::reflect;               ///< what lies beyond the borders
  stagecraft::interpolation interpolation = interpolation::bilinear;  ///< between pixels, or the `nearest` one
  std::uint64_t seed = 0;  ///< what random numbers are drawn from; 0: the trainer's seed
  float fill_value = 0;    ///< the number beyond the borders, with fill_mode::constant
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// While training, pixel (row, column) of an image is that of the input at `derived().places(ops, row, column)`, two
/// tensors that broadcast to (batch, height, width); numbers are drawn for each image. At inference the input passes
/// unchanged.
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
  /// The images, and places in them.
  struct image {
    int batch, height, width;

    [[nodiscard]] constexpr auto row(auto& ops) const { return ops.iota({1, height, 1}, 1); }
    [[nodiscard]] constexpr auto column(auto& ops) const { return ops.iota({1, 1, width}, 2); }
    /// A number from a range for each image.
    [[nodiscard]] constexpr auto drawn(auto& ops, factor_range const& from, std::uint64_t seed) const {
      return ops.uniform({batch, 1, 1}, seed) * (from.upper - from.lower) + from.lower;
    }
  };
  /// The rows and columns of the input that pixels are.
  template <class Tensor>
  struct place {
    Tensor row, column;
  };
  template <class Tensor>
  place(Tensor, Tensor) -> place<Tensor>;

 private:
  /// A place along an axis of some length, as the fill mode has it.
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

}  // namespace stagecraft::layers
