// SPDX-License-Identifier: BSD-3-Clause
// Removes the borders of a volume: tf.keras.layers.Cropping3D.
#pragma once

#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_3d.hpp>

namespace stagecraft::layers {

/// Removes the borders of a volume. Default: 1 on each side.
///
/// Shape: (depth, height, width, channels) to other lengths. No weights, no arithmetic. Channels are the last axis.
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number; E1045 if nothing is left.
/// Definition: Keras API, layers/reshaping_layers/cropping3d.
struct cropping3d : layer<cropping3d> {
  static constexpr std::string_view class_name = "Cropping3D";
  static constexpr std::string_view usage =
      "cropping3d{1}, cropping3d{{1, 2, 3}} or cropping3d{{{1, 2}, {3, 4}, {5, 6}}}"sv;

  border_3d cropping = 1;
  using arguments = argument_list<&cropping3d::cropping>;

  constexpr cropping3d() = default;
  constexpr explicit cropping3d(int all) : cropping(all) {}
  constexpr explicit cropping3d(int const (&each)[3]) : cropping(each[0], each[1], each[2]) {}
  constexpr explicit cropping3d(int const (&each)[3][2])
      : cropping({each[0][0], each[0][1]}, {each[1][0], each[1][1]}, {each[2][0], each[2][1]}) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = cropping3d>
  constexpr explicit cropping3d(detail::wrong_options, ...) : cropping3d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (cropping.has_negative())
      return ops.error(1044, "has a cropping of ", cropping, "; each number must be at least 0"), x;
    if (x.rank() != 5)
      return ops.error(1041, "expects an input of shape (depth, height, width, channels), but got ",
                       detail::sample_shape(x)),
             x;
    for (int axis = 0; axis < 3; ++axis) {
      auto const& each = cropping.along[axis];
      if (x.length(axis + 1) <= each.total())
        return ops.error(1045, "has a cropping of ", cropping, ", which leaves nothing along axis ", axis + 1), x;
      x = ops.slice(x, axis + 1, each.before, x.length(axis + 1) - each.before - each.after);
    }
    return x;
  }
};

}  // namespace stagecraft::layers
