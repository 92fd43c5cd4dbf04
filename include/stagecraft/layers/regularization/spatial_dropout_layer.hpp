// SPDX-License-Identifier: BSD-3-Clause
// What spatial_dropout1d, spatial_dropout2d and spatial_dropout3d have in common. Keras counterpart: the base class of
// tf.keras.layers.SpatialDropout1D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <cstdint>

namespace stagecraft::layers {

/// While training, each channel of a sample is 0 with probability `rate` at all positions, and multiplied by
/// 1 / (1 - rate) otherwise; at inference the input passes unchanged. Which channels are dropped follows from the
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

  /// Nothing, or anything else: E1025.
  template <class L = Derived>
  constexpr spatial_dropout_layer() : spatial_dropout_layer(0.5F) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit spatial_dropout_layer(detail::wrong_options, ...) : spatial_dropout_layer(0.5F) {
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

}  // namespace stagecraft::layers
