// SPDX-License-Identifier: BSD-3-Clause
// Puts zeros around an image: tf.keras.layers.ZeroPadding2D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_2d.hpp>

namespace stagecraft::layers {

/// Puts zeros around an image. Default: 1 on each side.
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

  /// Anything else: E1025.
  using layer::layer;
  template <class L = zero_padding2d>
  constexpr explicit zero_padding2d(detail::wrong_options, ...) : zero_padding2d() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
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

}  // namespace stagecraft::layers
