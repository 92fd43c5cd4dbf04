// SPDX-License-Identifier: BSD-3-Clause
// Puts zeros around a volume: tf.keras.layers.ZeroPadding3D.
#pragma once

#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_3d.hpp>

namespace stagecraft::layers {

/// Puts zeros around a volume. Default: 1 on each side.
///
/// Shape: (depth, height, width, channels) to other lengths. No weights, no arithmetic. Channels are the last axis.
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding3d.
struct zero_padding3d : layer<zero_padding3d> {
  static constexpr std::string_view class_name = "ZeroPadding3D";
  static constexpr std::string_view usage =
      "zero_padding3d{1}, zero_padding3d{{1, 2, 3}} or zero_padding3d{{{1, 2}, {3, 4}, {5, 6}}}"sv;

  border_3d padding = 1;
  using arguments = argument_list<&zero_padding3d::padding>;

  constexpr zero_padding3d() = default;
  constexpr explicit zero_padding3d(int all) : padding(all) {}
  constexpr explicit zero_padding3d(int const (&each)[3]) : padding(each[0], each[1], each[2]) {}
  constexpr explicit zero_padding3d(int const (&each)[3][2])
      : padding({each[0][0], each[0][1]}, {each[1][0], each[1][1]}, {each[2][0], each[2][1]}) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = zero_padding3d>
  constexpr explicit zero_padding3d(detail::wrong_options, ...) : zero_padding3d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (padding.has_negative())
      return ops.error(1044, "has a padding of ", padding, "; each number must be at least 0"), x;
    if (x.rank() != 5)
      return ops.error(1041, "expects an input of shape (depth, height, width, channels), but got ",
                       detail::sample_shape(x)),
             x;
    for (int axis = 0; axis < 3; ++axis)
      x = ops.pad(x, axis + 1, padding.along[axis].before, padding.along[axis].after);
    return x;
  }
};

}  // namespace stagecraft::layers
