// SPDX-License-Identifier: BSD-3-Clause
// Layers that put zeros around a sequence, an image or a volume: tf.keras.layers.ZeroPadding1D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border.hpp>
#include <array>

namespace stagecraft::layers {

/// Puts zeros before and after a sequence: tf.keras.layers.ZeroPadding1D.
/// Default: 1 on each side.
///
/// Shape: (steps, channels) to (new steps, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding1d.
struct zero_padding1d : layer<zero_padding1d> {
  static constexpr std::string_view class_name = "ZeroPadding1D";
  static constexpr std::string_view usage = "zero_padding1d{1} or zero_padding1d{{before, after}}"sv;

  border padding;
  using arguments = argument_list<&zero_padding1d::padding>;

  constexpr zero_padding1d() : zero_padding1d(border(1)) {}
  constexpr explicit zero_padding1d(int all) : zero_padding1d(border(all)) {}
  constexpr explicit zero_padding1d(int const (&each)[2]) : zero_padding1d(border(each[0], each[1])) {}
  constexpr explicit zero_padding1d(border const& padding_) : padding(padding_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = zero_padding1d>
  constexpr explicit zero_padding1d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                    detail::wrong_options = {})
      : zero_padding1d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (padding.before < 0 || padding.after < 0)
      ops.error(1044, "has a padding of ", padding, "; each number must be at least 0");
    else if (x.rank() != 3)
      ops.error(1041, "expects an input of shape (steps, channels), but got ", detail::sample_shape(x));
    else
      return ops.pad(x, 1, padding.before, padding.after);
    return x;
  }
};

/// Puts zeros around an image: tf.keras.layers.ZeroPadding2D.
/// Default: 1 on each side.
///
/// Shape: (height, width, channels) to (new height, new width, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding2d.
struct zero_padding2d : layer<zero_padding2d> {
  static constexpr std::string_view class_name = "ZeroPadding2D";
  static constexpr std::string_view usage =
      "zero_padding2d{1}, zero_padding2d{{1, 2}} or zero_padding2d{{{top, bottom}, {left, right}}}"sv;

  border_2d padding;
  using arguments = argument_list<&zero_padding2d::padding>;

  constexpr zero_padding2d() : zero_padding2d(border_2d(1)) {}
  constexpr explicit zero_padding2d(int all) : zero_padding2d(border_2d(all)) {}
  constexpr explicit zero_padding2d(int const (&each)[2]) : zero_padding2d(border_2d(each[0], each[1])) {}
  constexpr explicit zero_padding2d(int const (&each)[2][2])
      : zero_padding2d(border_2d({each[0][0], each[0][1]}, {each[1][0], each[1][1]})) {}
  constexpr explicit zero_padding2d(border_2d const& padding_) : padding(padding_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = zero_padding2d>
  constexpr explicit zero_padding2d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                    detail::wrong_options = {})
      : zero_padding2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The zeros above, left, below and right, for a convolution that does the step of this layer
  /// (planned_call::is_border).
  [[nodiscard]] constexpr std::array<int, 4> zeros_around() const {
    return {padding.rows.before, padding.columns.before, padding.rows.after, padding.columns.after};
  }

  constexpr auto call(auto& ops, auto x) const {
    auto const& [rows, columns] = padding;
    if (rows.before < 0 || rows.after < 0 || columns.before < 0 || columns.after < 0)
      ops.error(1044, "has a padding of ", padding, "; each number must be at least 0");
    else if (x.rank() != 4)
      ops.error(1041, "expects an input of shape (height, width, channels), but got ", detail::sample_shape(x));
    else
      return ops.pad(ops.pad(x, 2, columns.before, columns.after), 1, rows.before, rows.after);
    return x;
  }
};

/// Puts zeros around a volume: tf.keras.layers.ZeroPadding3D.
/// Default: 1 on each side.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = zero_padding3d>
  constexpr explicit zero_padding3d(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                    detail::wrong_options = {})
      : zero_padding3d() {
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
