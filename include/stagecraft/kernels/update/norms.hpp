// SPDX-License-Identifier: BSD-3-Clause
// Norms that an optimizer's step reads: sums of squares of what they are taken of, over parts of a weight.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <array>
#include <bit>
#include <cstdint>

namespace stagecraft::kernels {

/// Adds the squares of what the norms `Which` of an optimizer's step are taken of (detail::norms_of_round) over n
/// elements of a weight, n a multiple of 16: `sums` has one number for each, in order. Slot number s of weight i is
/// slots[s * slot_stride + i]. `valid(i)` says how many of a register of elements from i on count; those come first.
/// All architectures add in the same order.
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

}  // namespace stagecraft::kernels
