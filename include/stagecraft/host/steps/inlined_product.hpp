// SPDX-License-Identifier: BSD-3-Clause
// Products of a row, or of the rows under a window, with packed weights, and what else a window becomes: with sums in
// registers.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/inlined_plan.hpp>
#include <stagecraft/kernels/elementwise/function.hpp>

namespace stagecraft::cpu {

/// One operation of a call. `Plan`: its inlined_plan. `Id`: the operation.
template <class Plan, int Id>
class inlined_product {
  using arch = typename Plan::arch;
  using layout = typename Plan::layout;
  using value = kernels::batch<arch>;
  using half = kernels::half_register<arch>;
  static constexpr layout of = Plan::layout_of_product(Id);
  static constexpr int inner = Plan::inner(Id), chains = Plan::chains(Id);
  static constexpr int row_floats = Plan::columns(Plan::operand(Id, 0)), length = row_floats / Plan::groups_of(Id);
  static constexpr int taps = Plan::window_of(Id).size, stride = Plan::window_of(Id).dilation * row_floats;
  /// True if all terms are written out, one after the other.
  static constexpr bool is_unrolled = inner <= (Plan::is_window_product(Id) ? 32 : 4);

 public:
  /// The registers from `First` on, as many as are summed at once, and then the others: calls `give.operator()<R>(sum)`
  /// with each. The left operand is one row, or rows under a window, the first of which is at `left`; `packed` has the
  /// weights.
  template <int First, class Give>
  [[gnu::always_inline]] static inline void multiply(float const* packed, float const* left, Give const& give) {
    constexpr int some = of.part_end(First) - First, row = of.row_of_part(First), before = of.packed_before(First);
    constexpr bool has_halves_alone = of.packed_before(First + some) - before == some * layout::width / 2;
    constexpr bool is_aligned = row % layout::width == 0 && before % layout::width == 0;
    float const* weights = packed + inner * before;
    value sums[chains * some];
    [[maybe_unused]] half halves[chains * some];
    each_of<0, chains * some>([&]<int R>() __attribute__((always_inline)) {
      if constexpr (of.is_half(First + R % some))
        halves[R] = half(0.0F);
      else
        sums[R] = value(0.0F);
    });
    auto const add = [&]<int Chain>(float const* number) __attribute__((always_inline)) {
      [[maybe_unused]] value const term(*number);
      // The number once, not in two registers of different sizes, which take the units that multiply.
      [[maybe_unused]] half const half_term = has_halves_alone ? half(*number) : kernels::first_half<arch>(term);
      each_of<0, some>([&]<int R>() __attribute__((always_inline)) {
        constexpr int at = of.packed_before(First + R) - before, sum = Chain * some + R;
        if constexpr (of.is_half(First + R))
          halves[sum] = kernels::fused_multiply_add(half_term, half::load_unaligned(weights + at), halves[sum]);
        else if constexpr (is_aligned && at % layout::width == 0)
          sums[sum] = kernels::fused_multiply_add(term, value::load_aligned(weights + at), sums[sum]);
        else
          sums[sum] = kernels::fused_multiply_add(term, value::load_unaligned(weights + at), sums[sum]);
      });
      weights += row;
    };
    auto const add_row = [&](float const* numbers) __attribute__((always_inline)) {
      int k = 0;
      for (; k + chains <= length; k += chains)
        each_of<0, chains>([&]<int C>()
                               __attribute__((always_inline)) { add.template operator()<C>(numbers + k + C); });
      each_of<0, length % chains>([&]<int C>()
                                      __attribute__((always_inline)) { add.template operator()<C>(numbers + k + C); });
    };
    if constexpr (is_unrolled) {
      each_of<0, taps>([&]<int Row>() __attribute__((always_inline)) {
        each_of<0, length>([&]<int K>() __attribute__((always_inline)) {
          add.template operator()<(Row * length + K) % chains>(left + Row * stride + K);
        });
      });
    } else {
      float const* at = left;
      for (int i = 0; i < taps; ++i, at += stride) add_row(at);
    }
    each_of<0, some>([&]<int R>() __attribute__((always_inline)) {
      if constexpr (of.is_half(First + R))
        give.template operator()<First + R>(kernels::widened<arch>(sum_of_chains<some>(halves + R)));
      else
        give.template operator()<First + R>(sum_of_chains<some>(sums + R));
    });
    if constexpr (First + some < of.registers()) multiply<First + some>(packed, left, give);
  }

  /// A register of a depthwise convolution, with these weights, or of a pooling of the rows from `window` on.
  template <int Register>
  [[gnu::always_inline]] static inline value under_window(float const* window, float const* weights) {
    auto const load = [](float const* row) __attribute__((always_inline)) {
      return kernels::load_lanes<of.lanes_of(Register), arch>(row + of.column_of(Register));
    };
    if constexpr (Plan::template is<operations::convolution>(Id)) {
      value sum(0.0F);
      for (int i = 0; i < taps; ++i)
        sum = kernels::fused_multiply_add(load(window + i * stride), load(weights + i * row_floats), sum);
      return sum;
    } else {
      constexpr bool is_max = Plan::template as<operations::pooling>(Id).kind == operations::pooling_kind::max;
      value result = load(window);
      for (int i = 1; i < taps; ++i) {
        value const next = load(window + i * stride);
        result =
            is_max ? kernels::function_value<operations::function::maximum, arch>(result, next, next) : result + next;
      }
      return is_max ? result : result * value(1.0F / taps);
    }
  }

 private:
  /// The sum of the registers at 0, `Step`, 2 `Step`, ...
  template <int Step, int Chains = chains, class Register>
  [[gnu::always_inline]] static inline Register sum_of_chains(Register const* each_sum) {
    if constexpr (Chains == 1)
      return each_sum[0];
    else
      return sum_of_chains<Step, Chains / 2>(each_sum) + sum_of_chains<Step, Chains / 2>(each_sum + Chains / 2 * Step);
  }
};

}  // namespace stagecraft::cpu
