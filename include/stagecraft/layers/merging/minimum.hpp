// SPDX-License-Identifier: BSD-3-Clause
// The smallest of its inputs: tf.keras.layers.Minimum.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// The minimum of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `minimum{}(a, b)` or `minimum{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/minimum.
struct minimum : merge<minimum> {
  static constexpr std::string_view class_name = "Minimum";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return operations::minimum(a, b); }
};

}  // namespace stagecraft::layers
