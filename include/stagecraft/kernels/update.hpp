// SPDX-License-Identifier: BSD-3-Clause
// Weight updates of the optimizers over flat arrays, and as a function of batches for use inside other kernels.
// Keras counterpart: tf.keras.optimizers.legacy (the formulas of Keras 2.6). Level 4 of the house.
#pragma once

#include <stagecraft/kernels/simd.hpp>
#include <stagecraft/optimizers/adam.hpp>
#include <stagecraft/optimizers/decay.hpp>
#include <stagecraft/optimizers/rmsprop.hpp>
#include <stagecraft/optimizers/sgd.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

/// One optimizer step on a batch of weights: `update_function<Optimizer, Arch> f(learning_rate, step)`, then
/// `f(w, g, slots)` changes the weights w and the `Optimizer.slots()` state batches by the gradients g. `step` counts
/// from 1. To be specialised for each type of optimizer (a user's own, too).
template <auto Optimizer, class Arch = default_architecture, class Type = std::remove_cv_t<decltype(Optimizer)>>
struct update_function {
  static_assert(Optimizer.slots() < 0, "this optimizer has no kernel: specialise kernels::update_function for it");
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::sgd> {
  using value = batch<Arch>;
  value learning_rate;

  explicit update_function(float rate, std::int64_t step)
      : learning_rate(optimizers::decayed_rate(Optimizer, rate, step)) {}

  void operator()(value& w, value const& g, [[maybe_unused]] value* slots) const {
    if constexpr (Optimizer.momentum == 0) {
      w = fused_negative_multiply_add(learning_rate, g, w);
    } else {
      value const momentum(Optimizer.momentum);
      slots[0] = fused_negative_multiply_add(learning_rate, g, momentum * slots[0]);
      if constexpr (Optimizer.nesterov)
        w = fused_negative_multiply_add(learning_rate, g, fused_multiply_add(momentum, slots[0], w));
      else
        w = w + slots[0];
    }
  }
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::rmsprop> {
  using value = batch<Arch>;
  value learning_rate;

  explicit update_function(float rate, std::int64_t step)
      : learning_rate(optimizers::decayed_rate(Optimizer, rate, step)) {}

  void operator()(value& w, value const& g, value* slots) const {
    constexpr int mean_slot = Optimizer.momentum != 0 ? 2 : 1;
    value const rest(1.0F - Optimizer.rho);
    value const epsilon(Optimizer.epsilon);
    slots[0] = fused_multiply_add(rest, fused_multiply_add(g, g, -slots[0]), slots[0]);
    value square = slots[0];
    if constexpr (Optimizer.centered) {
      slots[mean_slot] = fused_multiply_add(rest, g - slots[mean_slot], slots[mean_slot]);
      // The variance; rounding may leave it a little below 0, where Keras would go on with NaN.
      square = at_least(fused_negative_multiply_add(slots[mean_slot], slots[mean_slot], square), value(0.0F));
    }
    if constexpr (Optimizer.momentum != 0) {
      slots[1] =
          fused_multiply_add(value(Optimizer.momentum), slots[1], learning_rate * g / xsimd::sqrt(square + epsilon));
      w = w - slots[1];
    } else {
      w = w - learning_rate * g / (xsimd::sqrt(square) + epsilon);
    }
  }
};

template <auto Optimizer, class Arch>
struct update_function<Optimizer, Arch, optimizers::adam> {
  using value = batch<Arch>;
  value corrected_rate;  ///< learning_rate * sqrt(1 - beta_2^step) / (1 - beta_1^step)

  explicit update_function(float rate, std::int64_t step)
      : corrected_rate(
            static_cast<float>(optimizers::decayed_rate(Optimizer, rate, step) *
                               std::sqrt(1.0 - std::pow(double{Optimizer.beta_2}, static_cast<double>(step))) /
                               (1.0 - std::pow(double{Optimizer.beta_1}, static_cast<double>(step))))) {}

  void operator()(value& w, value const& g, value* slots) const {
    slots[0] = fused_multiply_add(value(1.0F - Optimizer.beta_1), g - slots[0], slots[0]);
    slots[1] = fused_multiply_add(value(1.0F - Optimizer.beta_2), fused_multiply_add(g, g, -slots[1]), slots[1]);
    value square = slots[1];
    if constexpr (Optimizer.amsgrad) square = slots[2] = xsimd::max(slots[2], slots[1]);
    w = w - corrected_rate * slots[0] / (xsimd::sqrt(square) + value(Optimizer.epsilon));
  }
};

/// One optimizer step over n weights w with the gradients g. Slot number s of weight i is slots[s * slot_stride + i];
/// all slots start at 0. `step` counts from 1. Elementwise, so a range may be split in any way; slots may be null for
/// an optimizer without state.
template <auto Optimizer, class Arch = default_architecture>
inline void update(float learning_rate, std::int64_t step, float* w, float const* g, float* slots,
                   std::int64_t slot_stride, std::int64_t n) {
  constexpr int slot_count = Optimizer.slots();
  constexpr int width = lanes<Arch>;
  update_function<Optimizer, Arch> const function(learning_rate, step);
  batch<Arch> state[slot_count + 1];
  std::int64_t i = 0;
  for (; i + width <= n; i += width) {
    batch<Arch> weight = batch<Arch>::load_unaligned(w + i);
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = batch<Arch>::load_unaligned(slots + slot * slot_stride + i);
    function(weight, batch<Arch>::load_unaligned(g + i), state);
    weight.store_unaligned(w + i);
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + i);
  }
  if (int const rest = static_cast<int>(n - i); rest > 0) {
    batch<Arch> weight = load_first<Arch>(w + i, rest);
    for (int slot = 0; slot < slot_count; ++slot) state[slot] = load_first<Arch>(slots + slot * slot_stride + i, rest);
    function(weight, load_first<Arch>(g + i, rest), state);
    store_first(weight, w + i, rest);
    for (int slot = 0; slot < slot_count; ++slot) store_first(state[slot], slots + slot * slot_stride + i, rest);
  }
}

}  // namespace stagecraft::kernels
