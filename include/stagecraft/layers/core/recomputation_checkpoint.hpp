// SPDX-License-Identifier: BSD-3-Clause
// A tensor that recomputation finds kept: ipu_tensorflow_addons.keras.layers.RecomputationCheckpoint.
#pragma once

#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Gives what it gets. Where a pipeline stage's forward steps are carried out again before its backward steps, piece by
/// piece (`recomputation_mode::recompute_and_backpropagate_interleaved`), a piece ends here: the tensor is kept from
/// the forward pass, and what lies behind it is recomputed and done with before what lies in front of it. So a long
/// stage needs less memory at a time. In the other recomputation modes, without recomputation and at inference it
/// changes nothing, and results are the same bits in all of them.
///
/// Shape unchanged. No weights, no cost: the output is the input's memory. May be called on any number of tensors, one
/// at a time, where Graphcore's layer also takes several in a structure. Errors: E1001 for more than one tensor.
/// Definition: Graphcore's IPU TensorFlow Addons, keras/layers/recomputation.
struct recomputation_checkpoint : layer<recomputation_checkpoint> {
  static constexpr std::string_view class_name = "RecomputationCheckpoint";
  static constexpr bool is_view = true;

  [[nodiscard]] constexpr shape output_shape(layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    return in[0];
  }
};

}  // namespace stagecraft::layers
