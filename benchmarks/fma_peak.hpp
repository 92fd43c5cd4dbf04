// SPDX-License-Identifier: BSD-3-Clause
// The limit that matrix products are held against: fused multiply-adds on registers alone.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>

namespace stagecraft::benchmarks {

/// Twelve independent chains of `steps` multiply-adds: enough to hide a latency of 5 cycles on two units.
template <class Arch = kernels::default_architecture>
[[nodiscard]] inline float multiply_add_chains(std::int64_t steps) {
  constexpr int chains = 12;
  kernels::batch<Arch> sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = kernels::batch<Arch>(static_cast<float>(i));
  kernels::batch<Arch> factor(0.999F);
  kernels::batch<Arch> addend(0.001F);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sum[i] = kernels::fused_multiply_add(sum[i], factor, addend);
  }
  for (int i = 1; i < chains; ++i) sum[0] = sum[0] + sum[i];
  return kernels::horizontal_sum(sum[0]);
}

/// Floating-point operations of `multiply_add_chains`.
template <class Arch = kernels::default_architecture>
[[nodiscard]] constexpr double multiply_add_operations(std::int64_t steps) {
  return 2.0 * 12.0 * kernels::lanes<Arch> * static_cast<double>(steps);
}

}  // namespace stagecraft::benchmarks
