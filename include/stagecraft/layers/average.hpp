// SPDX-License-Identifier: BSD-3-Clause
// The mean of its inputs: tf.keras.layers.Average. Level 2.
#pragma once

#include <stagecraft/layers/merge.hpp>

namespace stagecraft::layers {

/// The mean of two or more inputs of one shape, element by element.
/// Called as `average{}(a, b)` or `average{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/average.
struct average : merge<average> {
  static constexpr std::string_view class_name = "Average";
};

}  // namespace stagecraft::layers
