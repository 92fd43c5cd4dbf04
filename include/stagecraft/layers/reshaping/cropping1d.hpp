// SPDX-License-Identifier: BSD-3-Clause
// Removes the ends of a sequence: tf.keras.layers.Cropping1D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/reshaping/border_2d.hpp>

namespace stagecraft::layers {

/// Removes the ends of a sequence. Default: 1 on each side.
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

  /// Anything else: E1025.
  using layer::layer;
  template <class L = cropping1d>
  constexpr explicit cropping1d(detail::wrong_options, ...) : cropping1d() {
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

}  // namespace stagecraft::layers
