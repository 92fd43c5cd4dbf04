// SPDX-License-Identifier: BSD-3-Clause
// Transposes square blocks of `lanes` x `lanes` floats in registers. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/simd.hpp>

#include <cstddef>

namespace stagecraft::kernels {

namespace detail {

#if defined(__AVX2__)
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
    for (int column = 0; column < 16; column += 4) {
      __m512 row[4];
      for (int i = 0; i < 4; ++i) {
        __m512 part = _mm512_castps128_ps512(_mm_loadu_ps(source(i) + column));
        part = _mm512_insertf32x4(part, _mm_loadu_ps(source(4 + i) + column), 1);
        part = _mm512_insertf32x4(part, _mm_loadu_ps(source(8 + i) + column), 2);
        row[i] = _mm512_insertf32x4(part, _mm_loadu_ps(source(12 + i) + column), 3);
      }
      detail::transpose_parts(
          row, [](__m512 a, __m512 b) { return _mm512_maskz_unpacklo_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_unpackhi_ps(0xFFFF, a, b); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0x44); },
          [](__m512 a, __m512 b) { return _mm512_maskz_shuffle_ps(0xFFFF, a, b, 0xEE); });
      for (int i = 0; i < 4; ++i) _mm512_storeu_ps(to + (column + i) * to_stride, row[i]);
    }
    return;
  } else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
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
