// SPDX-License-Identifier: BSD-3-Clause
// Weight updates of the optimizers: over flat arrays, as a function of batches inside other kernels, and of the rows of
// a table that indices name, so that no gradient of the whole table is made; with the norms that an optimizer reads,
// and weight penalties with their gradients (Keras counterpart: tf.keras.regularizers.L1L2).
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <stagecraft/kernels/elementwise/table_rows.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <stagecraft/threads/share.hpp>
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels {

/// The arguments of an optimizer's step that are equal for all weights: the learning rate, the number of the update
/// from 1 on, the factor of the loss if it changes, and the norms that it reads.
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
  /// One step on the first `count` weights from i on only.
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

/// Adds the sums of squares for the norms `Which` of an optimizer's step (detail::norms_of_round) over n elements of a
/// weight, n a multiple of 16: `sums` has one number for each, in order. Slot number s of weight i is
/// slots[s * slot_stride + i]. `valid(i)` returns the number of valid elements in a register from i on; these come
/// first. All architectures add in the same order.
template <auto Optimizer, unsigned Which, class Arch = default_architecture, class Valid>
inline void add_squares(tracing::array_view<double const> given, float const* w, float const* g, float const* slots,
                        std::int64_t slot_stride, std::int64_t n, Valid const& valid, double* sums) {
  constexpr int width = lanes<Arch>, together = 16, parts = together / width;
  constexpr int norms = std::popcount(Which), slot_count = stagecraft::detail::slots_of<Optimizer>;
  static_assert(together % width == 0);
  using value = batch<Arch>;
  formula_function<stagecraft::detail::formula_of_norms<Optimizer, Which>, Arch> const function(given);
  value squares[norms][parts];
  for (auto& of_norm : squares)
    for (auto& part : of_norm) part = value(0.0F);
  for (std::int64_t first = 0; first < n; first += together)
    for (int part = 0; part < parts; ++part) {
      std::int64_t const i = first + part * width;
      int const count = valid(i);
      if (count <= 0) continue;
      value of[slot_count + 2]{value::load_unaligned(w + i), value::load_unaligned(g + i)}, results[norms];
      for (int slot = 0; slot < slot_count; ++slot)
        of[slot + 2] = value::load_unaligned(slots + slot * slot_stride + i);
      function(of, results);
      for (int norm = 0; norm < norms; ++norm) {
        if (count < width) {
          std::array<float, width> numbers;
          results[norm].store_unaligned(numbers.data());
          results[norm] = load_first<Arch>(numbers.data(), count);
        }
        squares[norm][part] = fused_multiply_add(results[norm], results[norm], squares[norm][part]);
      }
    }
  for (int norm = 0; norm < norms; ++norm) {
    std::array<float, together> numbers;
    for (int part = 0; part < parts; ++part) squares[norm][part].store_unaligned(numbers.data() + part * width);
    double sum = 0;
    for (float const number : numbers) sum += static_cast<double>(number);
    sums[norm] += sum;
  }
}

/// Chains of the indices that name the same row, in the order of the indices.
template <class Arch = default_architecture>
class row_chains {
 public:
  /// The memory that the chains take, in floats.
  [[nodiscard]] static constexpr std::int64_t floats(std::int64_t rows, std::int64_t count) { return rows + count; }

  row_chains(table_indices const& of, float* memory)
      : of_(of), first_(reinterpret_cast<std::int32_t*>(memory)), next_(first_ + of.rows) {}

  /// Finds the chains.
  void link() const {
    std::fill_n(first_, of_.rows, end);
    for (std::int64_t k = of_.count; k-- > 0;)
      if (std::int64_t const row = of_.row(k); row >= 0) {
        next_[k] = first_[row];
        first_[row] = static_cast<std::int32_t>(k);
      }
  }

  /// Updates each row of `weights` that an index names by the sum of its gradients, which lie in the order of the
  /// indices. Sums begin with 0 and take them index by index. Items of `part`: indices; the first index of a chain
  /// updates its row.
  template <auto Optimizer>
  void update(update_function<Optimizer, Arch> const& function, updated_weights<Optimizer, Arch> const& weights,
              float const* gradients, share const& part) const {
    constexpr int lane_count = lanes<Arch>, at_once = 4;
    auto const [begin, last] = part.of(of_.count);
    std::int64_t const width = of_.width;
    for (std::int64_t k = begin; k < last; ++k) {
      of_.prefetch<true>(weights.w, k + table_indices::rows_ahead);
      std::int64_t const row = of_.row(k);
      if (row < 0 || first_[row] != k) continue;
      std::int64_t i = 0;
      for (; i + at_once * lane_count <= width; i += at_once * lane_count) {
        batch<Arch> sums[at_once];
        sum(sums, k, [&](std::int64_t index, int place) {
          return batch<Arch>::load_unaligned(gradients + index * width + i + place * lane_count);
        });
#pragma GCC unroll 4
        for (int place = 0; place < at_once; ++place)
          weights.step(function, row * width + i + place * lane_count, sums[place]);
      }
      for (; i < width; i += lane_count) {
        int const count = static_cast<int>(std::min<std::int64_t>(lane_count, width - i));
        batch<Arch> sums[1];
        sum(sums, k, [&](std::int64_t index, int) { return load_first<Arch>(gradients + index * width + i, count); });
        weights.step_first(function, row * width + i, sums[0], count);
      }
    }
  }

 private:
  static constexpr std::int32_t end = -1;

  template <std::size_t Places, class Batch, class Load>
  [[gnu::always_inline]] inline void sum(Batch (&sums)[Places], std::int64_t k, Load const& load) const {
#pragma GCC unroll 4
    for (std::size_t place = 0; place < Places; ++place) sums[place] = Batch(0.0F) + load(k, static_cast<int>(place));
    for (std::int64_t same = next_[k]; same != end; same = next_[same])
#pragma GCC unroll 4
      for (std::size_t place = 0; place < Places; ++place)
        sums[place] = sums[place] + load(same, static_cast<int>(place));
  }

  table_indices of_;
  std::int32_t *first_, *next_;
};

/// l1 * sum|w| + l2 * sum w^2 over n weights.
template <class Arch = default_architecture>
[[nodiscard]] inline float regularization_loss(regularizer const& penalty, float const* w, std::int64_t n) {
  using value = batch<Arch>;
  float loss = 0;
  if (penalty.l1 != 0) loss += penalty.l1 * transform_sum<Arch>(n, [](value const& x) { return xsimd::abs(x); }, w);
  if (penalty.l2 != 0) loss += penalty.l2 * transform_sum<Arch>(n, [](value const& x) { return x * x; }, w);
  return loss;
}

/// g += l1 * sign(w) + 2 * l2 * w, with sign(0) = 0 as in TensorFlow.
template <class Arch = default_architecture>
inline void add_regularization_gradient(regularizer const& penalty, float const* w, float* g, std::int64_t n) {
  using value = batch<Arch>;
  if (penalty.empty()) return;
  value const l1(penalty.l1);
  value const twice_l2(2.0F * penalty.l2);
  value const zero(0.0F);
  transform<Arch>(
      n,
      [=](value const& x, value const& gradient) {
        value const sign = xsimd::select(x > zero, l1, xsimd::select(x < zero, -l1, zero));
        return gradient + fused_multiply_add(twice_l2, x, sign);
      },
      g, w, static_cast<float const*>(g));
}

}  // namespace stagecraft::kernels
