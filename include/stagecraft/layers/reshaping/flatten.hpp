// SPDX-License-Identifier: BSD-3-Clause
// All axes but the batch become one: tf.keras.layers.Flatten.
#pragma once

#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Shape: (a, b, ...) to (a * b * ...). No weights, no cost: the output is the input's memory.
struct flatten : layer<flatten> {
  static constexpr std::string_view class_name = "Flatten";
  static constexpr bool is_view = true;
  static constexpr bool follows_shapes = true;  ///< its rules are found by shapes alone

  constexpr auto call(auto& ops, auto x) const { return ops.reshape(x, {x.length(0), detail::sample_shape(x).size()}); }
};

}  // namespace stagecraft::layers
