// SPDX-License-Identifier: BSD-3-Clause
// The product of its inputs: tf.keras.layers.Multiply.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// Multiplies two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `multiply{}(a, b)` or `multiply{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/multiply.
struct multiply : merge<multiply> {
  static constexpr std::string_view class_name = "Multiply";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a * b; }
};

}  // namespace stagecraft::layers
