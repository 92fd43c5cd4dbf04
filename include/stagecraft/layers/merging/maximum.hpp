// SPDX-License-Identifier: BSD-3-Clause
// The largest of its inputs: tf.keras.layers.Maximum.
#pragma once

#include <stagecraft/layers/merging/merge.hpp>

namespace stagecraft::layers {

/// The maximum of two or more inputs element by element; shapes that differ are repeated, see merge.
/// Called as `maximum{}(a, b)` or `maximum{}({a, b})`. No weights. Errors: E1001, E1014 (see merge).
/// Definition: Keras API, layers/merging_layers/maximum.
struct maximum : merge<maximum> {
  static constexpr std::string_view class_name = "Maximum";

  static constexpr auto combine(operations::tensor a, operations::tensor b) { return operations::maximum(a, b); }
};

}  // namespace stagecraft::layers
