// SPDX-License-Identifier: BSD-3-Clause
// Layers that set random parts of their inputs to zero while training: tf.keras.layers.Dropout and SpatialDropout1D and
// its like.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <cstdint>

namespace stagecraft::layers::detail {

/// True if noise of this shape can be broadcast to the shape of an input; an empty shape always can.
constexpr bool noise_fits(auto const& x, shape const& noise) {
  if (noise.rank() == 0) return true;
  bool fits = x.rank() == noise.rank() + 1;
  for (int axis = 0; fits && axis < noise.rank(); ++axis) fits = noise[axis] == 1 || noise[axis] == x.shape()[axis + 1];
  return fits;
}
/// The extents of the random numbers for an input, batch included.
constexpr auto noise_of(auto const& x, shape const& noise) {
  auto of = x.shape();
  for (int axis = 0; axis < noise.rank(); ++axis) of[axis + 1] = noise[axis];
  return of;
}

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// While training, each element is 0 with probability `rate`, and multiplied by 1 / (1 - rate) otherwise; at inference
/// the input passes unchanged. Shape unchanged, no weights. The dropped elements follow from the trainer's seed
/// (or `seed`, unless 0), the call and the step, not from threads.
///
/// `dropout{0.2F, sc::shape{1, 1, 1}}` is Keras's `Dropout(0.2, noise_shape=(None, 1, 1, 1))`: elements along axes of
/// length 1 are dropped together, here those of a whole sample. Errors: E1013 if rate is not in [0, 1), or noise_shape
/// does not fit the input. Definition: Keras API, layers/regularization_layers/dropout.
struct dropout : layer<dropout> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Dropout";
  static constexpr std::string_view usage = "dropout{rate}, dropout{rate, seed} or dropout{rate, sc::shape{1, 1, 1}}"sv;

  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone

  float rate = 0;
  /// Keras's option without the batch: for each axis its length, or 1 if elements along it are dropped together. Empty:
  /// each element by itself.
  shape noise_shape = {};
  using arguments = argument_list<&dropout::rate, &dropout::noise_shape>;
  std::uint64_t seed = 0;

  constexpr explicit dropout(float rate_, std::uint64_t seed_ = 0) : rate(rate_), seed(seed_) {}
  constexpr explicit dropout(double rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}
  constexpr explicit dropout(int rate_, std::uint64_t seed_ = 0) : dropout(static_cast<float>(rate_), seed_) {}
  constexpr dropout(float rate_, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : rate(rate_), noise_shape(noise_shape_), seed(seed_) {}
  constexpr dropout(double rate_, shape const& noise_shape_, std::uint64_t seed_ = 0)
      : dropout(static_cast<float>(rate_), noise_shape_, seed_) {}

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = dropout>
  constexpr explicit dropout(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                             detail::wrong_options = {})
      : dropout(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!(rate > -1e6F && rate < 1e6F))
      ops.error(1013, "has a rate that is far out or not a number; it must be at least 0 and below 1");
    else if (!(rate >= 0.0F && rate < 1.0F))
      ops.error(1013, "has a rate of ", static_cast<int>(rate * 100), " percent; it must be at least 0 and below 1");
    else if (!detail::noise_fits(x, noise_shape))
      ops.error(1013, "has a noise_shape of ", noise_shape, ", but must have as many lengths as its input ",
                detail::sample_shape(x), " has, each of them the input's or 1");
    else if (ops.training() && rate > 0.0F)
      return ops.dropout(x, detail::noise_of(x, noise_shape), rate, seed);
    return x;
  }
};

/// While training, each channel of a sample is 0 with probability `rate` at all positions, and multiplied by
/// 1 / (1 - rate) otherwise; at inference the input passes unchanged. The dropped channels follow from the
/// trainer's seed (or `seed`, unless 0), the call and the step, not from threads. Axes is 4 for volumes, 3 for
/// images, 2 for sequences.
///
/// Errors: E1001; E1013 if rate is not in [0, 1); E1041 for an input of another number of axes.
template <class Derived, int Axes>
struct spatial_dropout_layer : layer<Derived> {
  static constexpr bool supports_masking = true;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone
  float rate = 0;
  using arguments = argument_list<&spatial_dropout_layer::rate>;
  std::uint64_t seed = 0;

  constexpr explicit spatial_dropout_layer(float rate_, std::uint64_t seed_ = 0) : rate(rate_), seed(seed_) {}
  constexpr explicit spatial_dropout_layer(double rate_, std::uint64_t seed_ = 0)
      : spatial_dropout_layer(static_cast<float>(rate_), seed_) {}
  constexpr explicit spatial_dropout_layer(int rate_, std::uint64_t seed_ = 0)
      : spatial_dropout_layer(static_cast<float>(rate_), seed_) {}

  using layer<Derived>::layer;
  /// No argument, or any other: E1025.
  template <class L = Derived>
  constexpr explicit spatial_dropout_layer(detail::wrong_options = {}, detail::wrong_options = {},
                                           detail::wrong_options = {}, detail::wrong_options = {})
      : spatial_dropout_layer(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!(rate > -1e6F && rate < 1e6F))
      ops.error(1013, "has a rate that is far out or not a number; it must be at least 0 and below 1");
    else if (!(rate >= 0.0F && rate < 1.0F))
      ops.error(1013, "has a rate of ", static_cast<int>(rate * 100), " percent; it must be at least 0 and below 1");
    else if (x.rank() != Axes + 1)
      ops.error(1041, "expects an input of shape ",
                Axes == 4   ? "(depth, height, width, channels)"
                : Axes == 3 ? "(height, width, channels)"
                            : "(steps, channels)",
                ", but got ", detail::sample_shape(x));
    else if (ops.training() && rate > 0.0F) {
      operations::extents of_channels = x.shape();
      for (int axis = 1; axis < Axes; ++axis) of_channels[axis] = 1;
      return ops.dropout(x, of_channels, rate, seed);
    }
    return x;
  }
};

/// Sets random channels of a sequence to zero while training: tf.keras.layers.SpatialDropout1D.
/// Drops whole channels, see spatial_dropout_layer. Shape (steps, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout1d.
struct spatial_dropout1d : spatial_dropout_layer<spatial_dropout1d, 2> {
  static constexpr std::string_view class_name = "SpatialDropout1D";
  static constexpr std::string_view usage = "spatial_dropout1d{rate} or spatial_dropout1d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout1d, 2>::spatial_dropout_layer;
};

/// Sets random channels of an image to zero while training: tf.keras.layers.SpatialDropout2D.
/// Drops whole channels, see spatial_dropout_layer. Shape (height, width, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout2d.
struct spatial_dropout2d : spatial_dropout_layer<spatial_dropout2d, 3> {
  static constexpr std::string_view class_name = "SpatialDropout2D";
  static constexpr std::string_view usage = "spatial_dropout2d{rate} or spatial_dropout2d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout2d, 3>::spatial_dropout_layer;
};

/// Sets random channels of a volume to zero while training: tf.keras.layers.SpatialDropout3D.
/// Drops whole channels, see spatial_dropout_layer. Shape (depth, height, width, channels), unchanged. No weights.
/// Definition: Keras API, layers/regularization_layers/spatial_dropout3d.
struct spatial_dropout3d : spatial_dropout_layer<spatial_dropout3d, 4> {
  static constexpr std::string_view class_name = "SpatialDropout3D";
  static constexpr std::string_view usage = "spatial_dropout3d{rate} or spatial_dropout3d{rate, seed}"sv;

  using spatial_dropout_layer<spatial_dropout3d, 4>::spatial_dropout_layer;
};

}  // namespace stagecraft::layers
