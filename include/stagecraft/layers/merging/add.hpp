// SPDX-License-Identifier: BSD-3-Clause
// The sum of its inputs: tf.keras.layers.Add.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// Adds two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `add{}(a, b)` or `add{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/add.
struct add : merge<add> {
  static constexpr std::string_view class_name = "Add";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a + b; }
};

}  // namespace stagecraft::layers
