// SPDX-License-Identifier: BSD-3-Clause
// Repeats each step of a sequence: tf.keras.layers.UpSampling1D.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Repeats each step of a sequence `size` times (default 2).
///
/// Shape: (steps, channels) to (size * steps, channels). No weights, no arithmetic.
/// Errors: E1001; E1041 for an input of another number of axes; E1046 for a size below 1.
/// Definition: Keras API, layers/reshaping_layers/up_sampling1d.
struct up_sampling1d : layer<up_sampling1d> {
  static constexpr std::string_view class_name = "UpSampling1D";
  static constexpr std::string_view usage = "up_sampling1d{size}"sv;

  int size = 2;
  using arguments = argument_list<&up_sampling1d::size>;

  constexpr explicit up_sampling1d(int size_ = 2) : size(size_) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = up_sampling1d>
  constexpr explicit up_sampling1d(detail::wrong_options, ...) : up_sampling1d(2) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (size < 1)
      ops.error(1046, "has a size of ", size, "; it must be at least 1");
    else if (x.rank() != 3)
      ops.error(1041, "expects an input of shape (steps, channels), but got ", detail::sample_shape(x));
    else
      return ops.repeat(x, size, 1);
    return x;
  }
};

}  // namespace stagecraft::layers
