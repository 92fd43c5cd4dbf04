// SPDX-License-Identifier: BSD-3-Clause
// A tensor of a lowered step: what it is to the layer, its type and size.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <cstdint>

namespace stagecraft::tiles {

struct weight_mapping;

/// What a tensor is to the step that works on it.
enum class tensor_role : unsigned char {
  input,            ///< of the call, by its position
  output,           ///< of the call
  weight,           ///< of the layer, by its position; forward steps of training may change those that are not trained
  saved,            ///< what the forward step keeps for the backward step, by its first float's number
  output_gradient,  ///< of the call
  input_gradient,   ///< of an input; written, or added to
  accumulator,      ///< the sum of a weight's gradients, by the weight's position
  target,           ///< of a loss; class numbers stand as float32, too
  sample_scale,     ///< of a loss: the weight of each row
  loss,             ///< of an output: one number
  optimizer_state,  ///< of a weight update, by its slot
  norm,             ///< of a weight update: a sum of squares for a norm of all weights, by the norm's number
  temporary         ///< of this step alone, by its number
};

/// A tensor in row-major order. tile_mapping says where it lies.
struct tile_tensor {
  tensor_role role = tensor_role::temporary;
  int index = 0;
  dtype type = dtype::float32;  ///< float32 or float16; uint8 for what is saved
  std::int64_t elements = 0;
  /// Of a weight that a convolution or product multiplies, and of all that lies as it does; null: mapped linearly.
  weight_mapping const* planned = nullptr;

  friend constexpr bool operator==(tile_tensor const&, tile_tensor const&) = default;
};

}  // namespace stagecraft::tiles
