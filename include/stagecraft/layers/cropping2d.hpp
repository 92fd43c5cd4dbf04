// SPDX-License-Identifier: BSD-3-Clause
// Removes the margins of an image: tf.keras.layers.Cropping2D. Level 2.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/border_2d.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Removes the margins of an image. Default: nothing.
///
/// Shape: (height, width, channels) to (new height, new width, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number; E1045 if
/// nothing is left.
/// Definition: Keras API, layers/reshaping_layers/cropping2d.
struct cropping2d : layer<cropping2d> {
  static constexpr std::string_view class_name = "Cropping2D";
  static constexpr std::string_view usage =
      "cropping2d{1}, cropping2d{{1, 2}} or cropping2d{{{top, bottom}, {left, right}}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border_2d cropping;

  constexpr cropping2d() : cropping2d(border_2d(0)) {}
  constexpr explicit cropping2d(int all) : cropping2d(border_2d(all)) {}
  constexpr explicit cropping2d(int const (&each)[2]) : cropping2d(border_2d(each[0], each[1])) {}
  constexpr explicit cropping2d(int const (&each)[2][2])
      : cropping2d(border_2d({each[0][0], each[0][1]}, {each[1][0], each[1][1]})) {}
  constexpr explicit cropping2d(border_2d const& cropping_) : cropping(cropping_) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = cropping2d>
  constexpr explicit cropping2d(detail::wrong_options, ...) : cropping2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (cropping.rows.before < 0 || cropping.rows.after < 0 || cropping.columns.before < 0 ||
        cropping.columns.after < 0)
      return in.error(1044, "has a cropping of ", cropping, "; each number must be at least 0");
    if (in[0].rank() != 3)
      return in.error(1041, "expects an input of shape (height, width, channels), but got ", in[0]);
    shape const result(in[0][0] - cropping.rows.total(), in[0][1] - cropping.columns.total(), in[0][2]);
    if (result[0] < 1 || result[1] < 1)
      return in.error(1045, "has a cropping of ", cropping, ", which leaves nothing of an input of shape ", in[0]);
    return result;
  }
};

}  // namespace stagecraft::layers
