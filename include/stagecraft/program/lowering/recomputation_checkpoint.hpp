// SPDX-License-Identifier: BSD-3-Clause
// Lowering of recomputation_checkpoint: it is a view. Level 4.
#pragma once

#include <stagecraft/layers/recomputation_checkpoint.hpp>
#include <stagecraft/program/lowering/lowering.hpp>

namespace stagecraft {

/// No operations: the output is the input's memory.
template <>
struct lowering<layers::recomputation_checkpoint> {
  template <class Call>
  static constexpr void forward(lowered_step&) {}
  template <class Call>
  static constexpr void backward(lowered_step&) {}
};

}  // namespace stagecraft
