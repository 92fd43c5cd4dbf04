// SPDX-License-Identifier: BSD-3-Clause
// Steps of a sequence that do not count: tf.keras.layers.Masking.
#pragma once

#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Masking.
struct masking_options {
  /// A step all of whose features have this value does not count.
  float mask_value = 0;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
};

/// Steps all of whose features are `mask_value` become 0, and later layers leave them out: recurrent ones keep
/// their state there. The mask goes along through layers that keep the steps of a sequence (dense, dropout,
/// activations, normalizations, sums and their like, time_distributed, recurrent layers with `return_sequences`).
///
/// Shape: (steps, features) to the same. No weights. Errors: E1041 an input of another rank; E1073 a layer that cannot
/// take the mask into account; E4093 an output of a trained model whose mask does not follow from an input of the
/// model. Definition: Keras API, layers/core_layers/masking.
struct masking : option_layer<masking, masking_options, &masking_options::mask_value> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Masking";
  static constexpr std::string_view usage = "masking{}, masking{-1.0F} or masking{{.mask_value = -1, .name = ...}}"sv;

  using option_layer::option_layer;

  [[nodiscard]] constexpr tracing::mask_rule compute_mask() const { return {options.mask_value, true, false}; }

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != 3) ops.error(1041, "expects an input of shape (steps, features)");
    return x * ops.max(1.0F - equal(x, options.mask_value), -1);
  }
};

}  // namespace stagecraft::layers
