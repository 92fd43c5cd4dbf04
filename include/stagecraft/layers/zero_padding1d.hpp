// SPDX-License-Identifier: BSD-3-Clause
// Puts zeros before and behind a sequence: tf.keras.layers.ZeroPadding1D. Level 2.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/border_2d.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Puts zeros before and behind a sequence. Default: 1 on each side.
///
/// Shape: (steps, channels) to (new steps, channels). No weights, no arithmetic.
/// Channels are the last axis (`data_format="channels_last"`).
/// Errors: E1001; E1041 for an input of another number of axes; E1044 for a negative number.
/// Definition: Keras API, layers/reshaping_layers/zero_padding1d.
struct zero_padding1d : layer<zero_padding1d> {
  static constexpr std::string_view class_name = "ZeroPadding1D";
  static constexpr std::string_view usage = "zero_padding1d{1} or zero_padding1d{{before, after}}";
  static constexpr bool backward_uses_input = false;
  static constexpr bool backward_uses_output = false;

  border padding;

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

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (padding.before < 0 || padding.after < 0)
      return in.error(1044, "has a padding of ", padding, "; each number must be at least 0");
    if (in[0].rank() != 2) return in.error(1041, "expects an input of shape (steps, channels), but got ", in[0]);
    return {in[0][0] + padding.total(), in[0][1]};
  }
};

}  // namespace stagecraft::layers
