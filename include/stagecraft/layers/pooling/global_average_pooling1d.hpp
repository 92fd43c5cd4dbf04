// SPDX-License-Identifier: BSD-3-Clause
// The mean of each channel of a sequence: tf.keras.layers.GlobalAveragePooling1D.
#pragma once

#include <stagecraft/layers/pooling/global_pooling_layer.hpp>
#include <stagecraft/layers/traced_call.hpp>

namespace stagecraft::layers {

/// The mean of each channel over all positions; of a sequence with masked steps, over those that count (NaN if none
/// does, as in Keras).
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling1d.
struct global_average_pooling1d : global_pooling_layer<global_average_pooling1d, 2> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "GlobalAveragePooling1D";
  static constexpr std::string_view usage =
      "global_average_pooling1d{} or global_average_pooling1d{{.keepdims = true, .name = ...}}"sv;

  tracing::step_masks masks;  ///< of its first call; the library finds them

  [[nodiscard]] static constexpr bool passes_mask() { return false; }

  using base = global_pooling_layer<global_average_pooling1d, 2>;
  using base::base;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
  constexpr operations::tensor call_masked(operations::tracer& ops, tensor_list in, mask_list const& counts) const {
    auto const x = in[0], mask = counts[0];
    if (mask.list == nullptr || x.rank() != 3) return base::call(ops, x);
    auto const steps = ops.reshape(mask, {mask.length(0), mask.length(1), 1});
    auto const mean = ops.sum(x * steps, 1) / ops.sum(steps, 1);
    return keepdims ? mean : ops.reshape(mean, {x.length(0), x.length(-1)});
  }
};

}  // namespace stagecraft::layers
