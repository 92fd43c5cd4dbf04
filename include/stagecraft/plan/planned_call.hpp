// SPDX-License-Identifier: BSD-3-Clause
// The plan of one call of a model (model_plan.hpp).
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/plan/call_needs.hpp>

namespace stagecraft::plan {

/// Floats that so many numbers of a type take.
[[nodiscard]] constexpr long long stored_floats(long long numbers, dtype type) noexcept {
  return is_half(type) ? (numbers + 1) / 2 : numbers;
}

/// The plan of one call.
struct planned_call {
  call_needs needs;
  int root = 0;                            ///< the call whose memory holds the output: itself, unless it is a view
  bool needs_gradient = false;             ///< its backward step runs
  bool writes_parameter_gradient = false;  ///< first in backward order of its layer's calls: writes, the others add
  /// The gradient of its activation is applied by the only call that reads its output, which writes the gradient and
  /// has it in registers.
  bool activation_in_consumer = false;
  /// Its steps leave out the activation: the loss takes the logits, and afterwards they become the model's output.
  bool activation_in_loss = false;
  /// The call whose forward step the host does as this one's epilogue: it is the only one that reads the output, which
  /// is never stored. -1: none.
  int epilogue = -1;
  /// The type in which its output and the gradient of it are stored.
  dtype stored = dtype::float32;
  /// Whether the numbers of its output count something, such as words: they are not rounded, whatever others compute
  /// in.
  bool is_exact = false;
  /// Whether it is the model's only input, and only products read it, in inference: their kernel on the host reads
  /// samples where the caller has them, if these are floats in their order, and no further.
  bool stays_in_place = false;
  /// Whether nothing but a penalty needs it, in a plan of predictions, which have no loss: it is not carried out.
  bool is_left_out = false;
  /// The call whose forward step does this one's, directly or behind other epilogues. -1: it has a step of its own.
  int epilogue_of = -1;

  friend constexpr bool operator==(planned_call const&, planned_call const&) = default;
};

}  // namespace stagecraft::plan
