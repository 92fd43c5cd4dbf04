// SPDX-License-Identifier: BSD-3-Clause
// The update of a weight while its gradient is still in registers.
#pragma once

#include <stagecraft/kernels/update/update.hpp>

namespace stagecraft::cpu {

/// Updates a weight with the optimizer as soon as its gradient is known.
template <auto Optimizer, class Arch>
struct update_in_registers {
  /// Optimizers with a state divide by a root of it.
  static constexpr bool takes_long = slots_of<Optimizer> > 0;

  kernels::update_function<Optimizer, Arch> function;
  float* weights;
  float* slots;
  long long slot_stride;

  template <class Batch>
  [[gnu::always_inline]] inline void operator()(Batch const& gradient, int offset) const {
    constexpr int slot_count = slots_of<Optimizer>;
    Batch state[slot_count + 1];
    Batch weight = Batch::load_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = Batch::load_unaligned(slots + slot * slot_stride + offset);
    function(weight, gradient, state);
    weight.store_unaligned(weights + offset);
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + offset);
  }
};

}  // namespace stagecraft::cpu
