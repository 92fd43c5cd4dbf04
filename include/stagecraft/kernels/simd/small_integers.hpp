// SPDX-License-Identifier: BSD-3-Clause
// Batches of whole numbers that lie in memory as unsigned integers of 8, 16 or 32 bits.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace stagecraft::kernels {

/// The integers at p as floats; `lanes` of them are read. They are below 2^24.
template <class Arch = default_architecture, class Integer>
[[nodiscard]] inline batch<Arch> load_integers(Integer const* p) {
  static_assert(std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && sizeof(Integer) == 1)
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch> && sizeof(Integer) == 1)
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<__m128i const*>(p))));
  else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane) values[lane] = static_cast<float>(p[lane]);
    return batch<Arch>::load_aligned(values);
  }
}

/// Writes the first Count lanes, whole numbers that an Integer can hold, and nothing behind them.
template <int Count, class Integer, class Arch>
inline void store_integers(xsimd::batch<float, Arch> const& x, Integer* p) {
  static_assert(Count > 0 && Count <= lanes<Arch> && std::is_unsigned_v<Integer> && sizeof(Integer) <= 4);
#if defined(__AVX2__)
  if constexpr ((has_avx512<Arch> || has_avx2<Arch>) && sizeof(Integer) == 1) {
    __m128i integers;
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>) {
      integers = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x));
    } else
#endif
    {
      __m256i const wide = _mm256_cvtps_epi32(x);
      __m128i const words = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
      integers = _mm_packus_epi16(words, words);
    }
    if constexpr (Count == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), integers);
    } else if constexpr (Count == 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(p), integers);
    } else {
      alignas(16) unsigned char buffer[16];
      _mm_store_si128(reinterpret_cast<__m128i*>(buffer), integers);
      std::memcpy(p, buffer, Count);
    }
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    for (int lane = 0; lane < Count; ++lane) p[lane] = static_cast<Integer>(static_cast<std::uint32_t>(values[lane]));
  }
}

}  // namespace stagecraft::kernels
