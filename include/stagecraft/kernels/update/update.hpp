// SPDX-License-Identifier: BSD-3-Clause
// Weight updates of the optimizers over flat arrays, and as a function of batches for use inside other kernels.
#pragma once

#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <array>
#include <cstdint>

namespace stagecraft::kernels {

/// What an optimizer's step is given everywhere: the learning rate, the number of the update from 1 on, the factor of
/// the loss if it changes, and the norms that it reads.
template <auto Optimizer>
[[nodiscard]] inline auto given_everywhere(float learning_rate, std::int64_t step, double const* norms,
                                           float loss_scale = 1) {
  constexpr int count = stagecraft::detail::norms_of<Optimizer>.count;
  std::array<double, update_tracer::first_norm + count> given{
      static_cast<double>(learning_rate), static_cast<double>(step), static_cast<double>(loss_scale)};
  for (int i = 0; i < count; ++i) given[static_cast<std::size_t>(update_tracer::first_norm + i)] = norms[i];
  return given;
}

/// One optimizer step on a batch of weights: `update_function<Optimizer, Arch> f(learning_rate, step, norms)`, then
/// `f(w, g, slots)` changes the weights w and their slots by the gradients g. `step` counts from 1. `norms` may be null
/// for an optimizer that reads none.
template <auto Optimizer, class Arch = default_architecture>
class update_function {
  static constexpr auto const& formula = stagecraft::detail::formula_of_optimizer<Optimizer>;
  using value = batch<Arch>;

 public:
  explicit update_function(float learning_rate, std::int64_t step, double const* norms = nullptr, float loss_scale = 1)
      : function_(given_everywhere<Optimizer>(learning_rate, step, norms, loss_scale)) {}

  static constexpr bool mixes_roots = formula_function<formula, Arch>::mixes_roots;

  template <root_by Roots = root_by::unit>
  [[gnu::always_inline]] inline void operator()(value& w, value const& g, value* slots) const {
    constexpr int count = stagecraft::detail::slots_of<Optimizer>;
    value given[count + 2]{w, g}, results[count + 1];
    for (int slot = 0; slot < count; ++slot) given[slot + 2] = slots[slot];
    function_.template operator()<Roots>(given, results);
    w = results[0];
    for (int slot = 0; slot < count; ++slot) slots[slot] = results[slot + 1];
  }

 private:
  formula_function<formula, Arch> function_;
};

/// Weights in memory and the optimizer's state of them: slot number s of weight i is slots[s * slot_stride + i]; slots
/// may be null for an optimizer without state.
template <auto Optimizer, class Arch = default_architecture>
struct updated_weights {
  using function = update_function<Optimizer, Arch>;

  float* w = nullptr;
  float* slots = nullptr;
  std::int64_t slot_stride = 0;

  /// One step on the weights from i on, by a register of gradients.
  template <root_by Roots = root_by::unit>
  [[gnu::always_inline]] inline void step(function const& of, std::int64_t i, batch<Arch> const& g) const {
    batch<Arch> weight = batch<Arch>::load_unaligned(w + i), state[slot_count + 1];
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot)
      state[slot] = batch<Arch>::load_unaligned(slots + slot * slot_stride + i);
    of.template operator()<Roots>(weight, g, state);
    weight.store_unaligned(w + i);
#pragma GCC unroll 4
    for (int slot = 0; slot < slot_count; ++slot) state[slot].store_unaligned(slots + slot * slot_stride + i);
  }
  /// The same for the first `count` of them alone.
  void step_first(function const& of, std::int64_t i, batch<Arch> const& g, int count) const {
    batch<Arch> weight = load_first<Arch>(w + i, count), state[slot_count + 1];
    for (int slot = 0; slot < slot_count; ++slot) state[slot] = load_first<Arch>(slots + slot * slot_stride + i, count);
    of(weight, g, state);
    store_first(weight, w + i, count);
    for (int slot = 0; slot < slot_count; ++slot) store_first(state[slot], slots + slot * slot_stride + i, count);
  }

 private:
  static constexpr int slot_count = stagecraft::detail::slots_of<Optimizer>;
};

/// One optimizer step over n weights w with the gradients g. Slot number s of weight i is slots[s * slot_stride + i];
/// all slots start at 0. `step` counts from 1; `norms` are those that the optimizer reads, and `loss_scale` the factor
/// of the loss if it changes. Elementwise, so a range may be split in any way; slots may be null for an optimizer
/// without state, and norms for one that reads none.
template <auto Optimizer, class Arch = default_architecture>
inline void update(float learning_rate, std::int64_t step, float* w, float const* g, float* slots,
                   std::int64_t slot_stride, std::int64_t n, double const* norms = nullptr, float loss_scale = 1) {
  constexpr int width = lanes<Arch>;
  update_function<Optimizer, Arch> const function(learning_rate, step, norms, loss_scale);
  updated_weights<Optimizer, Arch> const weights{w, slots, slot_stride};
  std::int64_t i = 0;
  if constexpr (update_function<Optimizer, Arch>::mixes_roots) {
    for (; i + 2 * width <= n; i += 2 * width) {
      weights.step(function, i, batch<Arch>::load_unaligned(g + i));
      weights.template step<root_by::products>(function, i + width, batch<Arch>::load_unaligned(g + i + width));
    }
  }
  for (; i + width <= n; i += width) weights.step(function, i, batch<Arch>::load_unaligned(g + i));
  if (int const rest = static_cast<int>(n - i); rest > 0)
    weights.step_first(function, i, load_first<Arch>(g + i, rest), rest);
}

}  // namespace stagecraft::kernels
