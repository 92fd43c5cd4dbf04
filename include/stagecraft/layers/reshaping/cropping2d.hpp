// SPDX-License-Identifier: BSD-3-Clause
// Removes the margins of an image: tf.keras.layers.Cropping2D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_2d.hpp>

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
      "cropping2d{1}, cropping2d{{1, 2}} or cropping2d{{{top, bottom}, {left, right}}}"sv;

  border_2d cropping;
  using arguments = argument_list<&cropping2d::cropping>;

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

  constexpr auto call(auto& ops, auto x) const {
    auto const& [rows, columns] = cropping;
    if (rows.before < 0 || rows.after < 0 || columns.before < 0 || columns.after < 0)
      ops.error(1044, "has a cropping of ", cropping, "; each number must be at least 0");
    else if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else if (x.length(1) <= rows.total() || x.length(2) <= columns.total())
      ops.error(1045, "has a cropping of ", cropping, ", which leaves nothing of an input of shape ",
                detail::sample_shape(x));
    else
      return ops.slice(ops.slice(x, 1, rows.before, x.length(1) - rows.before - rows.after), 2, columns.before,
                       x.length(2) - columns.before - columns.after);
    return x;
  }
};

}  // namespace stagecraft::layers
