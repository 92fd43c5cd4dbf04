// SPDX-License-Identifier: BSD-3-Clause
// Puts zeros before and behind a sequence: tf.keras.layers.ZeroPadding1D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_2d.hpp>

namespace stagecraft::layers {

/// Puts zeros before and behind a sequence. Default: 1 on each side.
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

  /// Anything else: E1025.
  using layer::layer;
  template <class L = zero_padding1d>
  constexpr explicit zero_padding1d(detail::wrong_options, ...) : zero_padding1d() {
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

}  // namespace stagecraft::layers
