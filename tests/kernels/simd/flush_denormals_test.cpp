// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/simd/special_values.hpp>
#include <doctest/doctest.h>
#include <limits>

namespace kernels = stagecraft::kernels;

TEST_CASE("denormal numbers are zero as long as it is wanted") {
  float const volatile smallest = std::numeric_limits<float>::min();
  float const volatile denormal = 0.5F * smallest;
  float const volatile half = 0.5F, large = 0x1p100F;
  CHECK(smallest * half > 0.0F);
#if defined(__SSE2__)
  {
    kernels::flush_denormals const flush;
    float const volatile result = smallest * half, from_operand = denormal * large;
    {
      kernels::flush_denormals const again;
    }
    float const volatile still = smallest * half;
    CHECK(result == 0.0F);
    CHECK(from_operand == 0.0F);
    CHECK(still == 0.0F);
  }
#endif
  float volatile const result = smallest * half, from_operand = denormal * large;
  CHECK(result > 0.0F);
  CHECK(from_operand > 0.0F);
}
