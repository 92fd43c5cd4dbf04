// SPDX-License-Identifier: BSD-3-Clause
// The sums of as many registers as a register has lanes, in one register: half the shuffles of one sum after the other,
// and one chain of them. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/simd.hpp>

namespace stagecraft::kernels {

namespace detail {

/// Of four registers a, b, c, d: the sums of each 128-bit part of theirs, as the part's four lanes.
template <class Register, class Add, class UnpackLow, class UnpackHigh, class ShuffleLow, class ShuffleHigh>
[[nodiscard]] inline Register sum_parts(Register const* row, Add add, UnpackLow low, UnpackHigh high,
                                        ShuffleLow join_low, ShuffleHigh join_high) {
  Register const ab = add(low(row[0], row[1]), high(row[0], row[1]));
  Register const cd = add(low(row[2], row[3]), high(row[2], row[3]));
  return add(join_low(ab, cd), join_high(ab, cd));
}

}  // namespace detail

/// Lane i of the result is the sum of the lanes of rows[i * lanes], ..., rows[i * lanes + lanes - 1]; rows is aligned.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> row_sums(float const* rows) {
  constexpr int n = lanes<Arch>;
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    __m512 part[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __m512 row[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) row[k] = _mm512_load_ps(rows + (4 * i + k) * n);
      part[i] = detail::sum_parts(
          row, [](__m512 a, __m512 b) { return _mm512_add_ps(a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0x44); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0xEE); });
    }
    __m512 const first = _mm512_add_ps(_mm512_maskz_shuffle_f32x4(0xFFFF, part[0], part[1], 0x44),
                                       _mm512_maskz_shuffle_f32x4(0xFFFF, part[0], part[1], 0xEE));
    __m512 const second = _mm512_add_ps(_mm512_maskz_shuffle_f32x4(0xFFFF, part[2], part[3], 0x44),
                                        _mm512_maskz_shuffle_f32x4(0xFFFF, part[2], part[3], 0xEE));
    return _mm512_add_ps(_mm512_maskz_shuffle_f32x4(0xFFFF, first, second, 0x88),
                         _mm512_maskz_shuffle_f32x4(0xFFFF, first, second, 0xDD));
  } else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    __m256 part[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      __m256 row[4];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) row[k] = _mm256_load_ps(rows + (4 * i + k) * n);
      part[i] = detail::sum_parts(
          row, [](__m256 a, __m256 b) { return _mm256_add_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0x44); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0xEE); });
    }
    return _mm256_add_ps(_mm256_permute2f128_ps(part[0], part[1], 0x20),
                         _mm256_permute2f128_ps(part[0], part[1], 0x31));
  } else
#endif
  {
    // In each of log2(n) rounds, rows that are half of what is left apart are interleaved and added.
    batch<Arch> row[n];
    for (int i = 0; i < n; ++i) row[i] = batch<Arch>::load_aligned(rows + i * n);
    for (int left = n / 2; left > 0; left /= 2)
      for (int i = 0; i < left; ++i)
        row[i] = xsimd::zip_lo(row[i], row[i + left]) + xsimd::zip_hi(row[i], row[i + left]);
    return row[0];
  }
}

}  // namespace stagecraft::kernels
