// SPDX-License-Identifier: BSD-3-Clause
// Transposes square blocks of `lanes` x `lanes` floats in registers.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstddef>

namespace stagecraft::kernels {

namespace detail {

#if defined(__AVX__)
/// Each 128-bit part of the four rows is a 4 x 4 block; transposes every one of them.
template <class Register, class UnpackLow, class UnpackHigh, class ShuffleLow, class ShuffleHigh>
inline void transpose_parts(Register (&row)[4], UnpackLow low, UnpackHigh high, ShuffleLow join_low,
                            ShuffleHigh join_high) {
  Register const a = low(row[0], row[1]);
  Register const b = high(row[0], row[1]);
  Register const c = low(row[2], row[3]);
  Register const d = high(row[2], row[3]);
  row[0] = join_low(a, c);
  row[1] = join_high(a, c);
  row[2] = join_low(b, d);
  row[3] = join_high(b, d);
}
#endif

/// Any power of two of lanes: in each of log2(lanes) rounds, rows that are half the block apart are interleaved.
template <class Arch>
inline void interleave_block(batch<Arch> (&row)[lanes<Arch>]) {
  constexpr int n = lanes<Arch>;
  for (int round = 1; round < n; round *= 2) {
    batch<Arch> next[n];
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = xsimd::zip_lo(row[i], row[i + n / 2]);
      next[2 * i + 1] = xsimd::zip_hi(row[i], row[i + n / 2]);
    }
    for (int i = 0; i < n; ++i) row[i] = next[i];
  }
}

}  // namespace detail

/// to[c * to_stride + r] = from[r * from_stride + c] for r and c in [0, lanes). Only the first `rows` rows of `from`
/// are read; what is written for the others is unspecified. 1 <= rows.
template <class Arch = default_architecture>
inline void transpose_block(float const* from, int from_stride, int rows, float* to, int to_stride) {
  auto const source = [=](int row) {
    return from + static_cast<std::ptrdiff_t>(row < rows ? row : rows - 1) * from_stride;
  };
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    // Whole rows are loaded once; then 128-bit parts change places, then floats within them.
    __m512 row[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) row[i] = _mm512_loadu_ps(source(i));
    __m512 part[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      __m512 const a = _mm512_maskz_shuffle_f32x4(0xFFFF, row[i], row[4 + i], 0x44);
      __m512 const b = _mm512_maskz_shuffle_f32x4(0xFFFF, row[8 + i], row[12 + i], 0x44);
      __m512 const c = _mm512_maskz_shuffle_f32x4(0xFFFF, row[i], row[4 + i], 0xEE);
      __m512 const d = _mm512_maskz_shuffle_f32x4(0xFFFF, row[8 + i], row[12 + i], 0xEE);
      part[0][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0x88);
      part[1][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0xDD);
      part[2][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, c, d, 0x88);
      part[3][i] = _mm512_maskz_shuffle_f32x4(0xFFFF, c, d, 0xDD);
    }
#pragma GCC unroll 4
    for (int column = 0; column < 4; ++column) {
      detail::transpose_parts(
          part[column], [](__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0x44); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0xEE); });
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) _mm512_storeu_ps(to + (column * 4 + i) * to_stride, part[column][i]);
    }
    return;
  } else
#endif
#if defined(__AVX__)
      if constexpr (lanes<Arch> == 8) {  // AVX without AVX2, too: xsimd 8.1's zip_lo stays within 128 bits there
    for (int column = 0; column < 8; column += 4) {
      __m256 row[4];
      for (int i = 0; i < 4; ++i)
        row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(source(i) + column)),
                                      _mm_loadu_ps(source(4 + i) + column), 1);
      detail::transpose_parts(
          row, [](__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0x44); },
          [](__m256 a, __m256 b) { return _mm256_shuffle_ps(a, b, 0xEE); });
      for (int i = 0; i < 4; ++i) _mm256_storeu_ps(to + (column + i) * to_stride, row[i]);
    }
    return;
  } else
#endif
  {
    batch<Arch> row[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) row[i] = batch<Arch>::load_unaligned(source(i));
    detail::interleave_block<Arch>(row);
    for (int i = 0; i < lanes<Arch>; ++i) row[i].store_unaligned(to + i * to_stride);
  }
}

}  // namespace stagecraft::kernels
