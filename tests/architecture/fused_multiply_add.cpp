// SPDX-License-Identifier: BSD-3-Clause
// A function whose instructions instructions.py reads: two fused operations per vector and nothing else.
#include <stagecraft/kernels/simd/simd.hpp>

namespace kernels = stagecraft::kernels;

extern "C" void fused_kernel(float const* a, float const* b, float* y, int n);

void fused_kernel(float const* a, float const* b, float* y, int n) {
  using value = kernels::batch<>;
  for (int i = 0; i + kernels::lanes<> <= n; i += kernels::lanes<>) {
    value const u = value::load_unaligned(a + i), v = value::load_unaligned(b + i), w = value::load_unaligned(y + i);
    kernels::fused_negative_multiply_add(u, kernels::fused_multiply_add(u, v, w), v).store_unaligned(y + i);
  }
}
