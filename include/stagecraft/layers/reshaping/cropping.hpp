// SPDX-License-Identifier: BSD-3-Clause
// Layers that remove the borders of a sequence, an image or a volume: tf.keras.layers.Cropping1D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border.hpp>

namespace stagecraft::layers {

/// Removes the ends of a sequence: tf.keras.layers.Cropping1D.
/// Default: 1 on each side.
///
/// Shape: (steps, channels) to (new steps, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number; E1045 if
/// nothing is left.
/// Definition: Keras API, layers/reshaping_layers/cropping1d.
struct cropping1d : layer<cropping1d> {
  static constexpr std::string_view class_name = "Cropping1D";
  static constexpr std::string_view usage = "cropping1d{1} or cropping1d{{before, after}}"sv;

  border cropping;
  using arguments = argument_list<&cropping1d::cropping>;

  constexpr cropping1d() : cropping1d(border(1)) {}
  constexpr explicit cropping1d(int all) : cropping1d(border(all)) {}
  constexpr explicit cropping1d(int const (&each)[2]) : cropping1d(border(each[0], each[1])) {}
  constexpr explicit cropping1d(border const& cropping_) : cropping(cropping_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = cropping1d>
  constexpr explicit cropping1d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                detail::wrong_options = {})
      : cropping1d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (cropping.before < 0 || cropping.after < 0)
      ops.error(1044, "has a cropping of ", cropping, "; each number must be at least 0");
    else if (x.rank() != 3)
      ops.error(1041, "expects an input of shape (steps, channels), but got ", detail::sample_shape(x));
    else if (x.length(1) <= cropping.total())
      ops.error(1045, "has a cropping of ", cropping, ", which leaves nothing of an input of shape ",
                detail::sample_shape(x));
    else
      return ops.slice(x, 1, cropping.before, x.length(1) - cropping.before - cropping.after);
    return x;
  }
};

/// Removes the margins of an image: tf.keras.layers.Cropping2D.
/// Default: nothing.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = cropping2d>
  constexpr explicit cropping2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                detail::wrong_options = {})
      : cropping2d() {
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

/// Removes the borders of a volume: tf.keras.layers.Cropping3D.
/// Default: 1 on each side.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = cropping3d>
  constexpr explicit cropping3d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                detail::wrong_options = {})
      : cropping3d() {
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
