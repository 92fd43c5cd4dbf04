// SPDX-License-Identifier: BSD-3-Clause
// Repeats each cell of a volume: tf.keras.layers.UpSampling3D.
#pragma once

#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/size_3d.hpp>

namespace stagecraft::layers {

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

  /// Anything else: E1025.
  using layer::layer;
  template <class L = up_sampling3d>
  constexpr explicit up_sampling3d(detail::wrong_options, ...) : up_sampling3d() {
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
