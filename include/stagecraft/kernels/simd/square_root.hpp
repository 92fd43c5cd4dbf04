// SPDX-License-Identifier: BSD-3-Clause
// The square root without the unit that takes roots and divides, which is the slowest one of a loop with both.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// What a square root is computed by. The bits are the same.
enum class root_by { unit, products };

/// The square root of each lane, correctly rounded. By products it takes as long, but leaves the unit for roots to
/// others: a loop that takes every other root so is quicker than with either alone. AVX-512 only; other architectures,
/// and registers with a lane that is not within [2^-100, 2^128), take the unit.
///
/// By products it is an estimate, one step of Newton's for the root and half its reciprocal, and a last one from the
/// exact remainder x - root^2 (P. Markstein, 1990). It is right for every mantissa if the estimate's relative error is
/// below 2^-14, as the instruction set promises.
template <root_by By, class Arch>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, Arch> square_root(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && By == root_by::products) {
    // One comparison of the bits, without sign, finds what is too small, too large, negative or NaN.
    __m512i const above = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32((127 - 100) << 23));
    if (_mm512_cmp_epu32_mask(above, _mm512_set1_epi32((100 + 128) << 23), _MM_CMPINT_NLT) == 0) [[likely]] {
      __m512 const one_half = _mm512_set1_ps(0.5F);
      __m512 const estimate = _mm512_maskz_rsqrt14_ps(0xFFFF, x);
      __m512 root = _mm512_mul_ps(x, estimate);
      __m512 half = _mm512_mul_ps(estimate, one_half);
      __m512 const rest = _mm512_fnmadd_ps(root, half, one_half);
      root = _mm512_fmadd_ps(root, rest, root);
      half = _mm512_fmadd_ps(half, rest, half);
      return _mm512_fmadd_ps(_mm512_fnmadd_ps(root, root, x), half, root);
    }
  }
#endif
  return xsimd::sqrt(x);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
