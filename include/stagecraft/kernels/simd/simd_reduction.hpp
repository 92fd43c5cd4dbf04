// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of several registers at once: as many registers as one has lanes are reduced to a register of
// results, for little more than the price of one horizontal sum each.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// A register whose lane i is the reduction of rows[i] by `join`, always in the same order. Overwrites the rows.
template <class Arch, class Join>
[[nodiscard]] inline batch<Arch> join_lanes(batch<Arch> (&rows)[lanes<Arch>], Join const& join) {
  constexpr int n = lanes<Arch>;
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    // Four rows become one within 128 bits, then the quarters of the registers are joined.
    auto const interleave = [&join](__m512 a, __m512 b) {
      return join(batch<Arch>(_mm512_maskz_unpacklo_ps(0xFFFF, a, b)),
                  batch<Arch>(_mm512_maskz_unpackhi_ps(0xFFFF, a, b)));
    };
    auto const pair_quarters = [&join](__m512 a, __m512 b) {
      return join(batch<Arch>(_mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0x88)),
                  batch<Arch>(_mm512_maskz_shuffle_f32x4(0xFFFF, a, b, 0xDD)));
    };
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4)
      rows[i] = interleave(interleave(rows[i], rows[i + 2]), interleave(rows[i + 1], rows[i + 3]));
    return pair_quarters(pair_quarters(rows[0], rows[4]), pair_quarters(rows[8], rows[12]));
  } else
#endif
#if defined(__AVX__)
      if constexpr (n == 8) {  // xsimd 8.1's zip_lo and zip_hi stay within 128 bits here, others' do not
    auto const interleave = [&join](__m256 a, __m256 b) {
      return join(batch<Arch>(_mm256_unpacklo_ps(a, b)), batch<Arch>(_mm256_unpackhi_ps(a, b)));
    };
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4)
      rows[i] = interleave(interleave(rows[i], rows[i + 2]), interleave(rows[i + 1], rows[i + 3]));
    return join(batch<Arch>(_mm256_permute2f128_ps(rows[0], rows[4], 0x20)),
                batch<Arch>(_mm256_permute2f128_ps(rows[0], rows[4], 0x31)));
  } else
#endif
  {
    for (int half = n / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i)
        rows[i] = join(xsimd::zip_lo(rows[i], rows[i + half]), xsimd::zip_hi(rows[i], rows[i + half]));
    return rows[0];
  }
}

}  // namespace detail

/// Lane i is the sum of the lanes of rows[i], for all rows in the same order. Overwrites the rows.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_sums(batch<Arch> (&rows)[lanes<Arch>]) {
  return detail::join_lanes<Arch>(rows, [](batch<Arch> const& a, batch<Arch> const& b) { return a + b; });
}

/// `horizontal_sums` of rows in memory: `lanes` registers, aligned, one after the other.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_sums(float const* rows) {
  batch<Arch> loaded[lanes<Arch>];
#pragma GCC unroll 16
  for (int row = 0; row < lanes<Arch>; ++row) loaded[row] = batch<Arch>::load_aligned(rows + row * lanes<Arch>);
  return horizontal_sums<Arch>(loaded);
}

/// Lane i is the largest lane of rows[i]; unspecified which if one is NaN. Overwrites the rows.
template <class Arch>
[[nodiscard]] inline batch<Arch> horizontal_maxima(batch<Arch> (&rows)[lanes<Arch>]) {
  return detail::join_lanes<Arch>(rows, [](batch<Arch> const& a, batch<Arch> const& b) { return xsimd::max(a, b); });
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
