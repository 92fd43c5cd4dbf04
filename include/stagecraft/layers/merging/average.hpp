// SPDX-License-Identifier: BSD-3-Clause
// The mean of its inputs: tf.keras.layers.Average.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// The mean of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `average{}(a, b)` or `average{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/average.
struct average : merge<average> {
  static constexpr std::string_view class_name = "Average";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return a + b; }
  static constexpr auto finish(operations::tensor sum, int count) { return sum * (1.0F / static_cast<float>(count)); }
};

}  // namespace stagecraft::layers
