// SPDX-License-Identifier: BSD-3-Clause
// The difference of its inputs: tf.keras.layers.Subtract.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// Its first input minus its second; exactly two inputs, whose shapes are repeated, see merge.
/// Called as `subtract{}(a, b)` or `subtract{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/subtract.
struct subtract : merge<subtract, 2> {
  static constexpr std::string_view class_name = "Subtract";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a - b; }
};

}  // namespace stagecraft::layers
