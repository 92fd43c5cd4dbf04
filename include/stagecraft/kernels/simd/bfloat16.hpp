// SPDX-License-Identifier: BSD-3-Clause
// The upper halves of floats, which are kept as std::uint16_t: to and from floats. Only memory holds them; arithmetic
// is done in floats, but for products of pairs. Keras counterpart: tf.cast between tf.float32 and tf.bfloat16.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// The nearest bfloat16 of each lane, in its lower 16 bits.
template <class Arch>
[[nodiscard]] inline xsimd::batch<std::int32_t, Arch> narrow_to_bfloat16(xsimd::batch<float, Arch> const& x) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  integer const bits = bit_cast<std::int32_t>(x);
  // A carry out of the fraction is right in the exponent, even the one that leads to infinity.
  integer const rounded = ((bits + integer(0x7FFF) + ((bits >> 16) & integer(1))) >> 16) & integer(0xFFFF);
  integer const quiet = ((bits >> 16) & integer(0xFFFF)) | integer(0x40);
  // All bits of lanes that hold NaN: what xsimd 8 selects integers with does not compile for AVX-512 everywhere.
  integer const is_nan = (integer(255 << 23) - (bits & integer(0x7FFFFFFF))) >> 31;
  return (is_nan & quiet) | (~is_nan & rounded);
}

}  // namespace detail

/// The floats that `lanes` numbers of bfloat16 stand for. Exact.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_bfloat16(std::uint16_t const* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p))), 16));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>)
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p))), 16));
  else
#endif
  {
    alignas(64) std::int32_t bits[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane) bits[lane] = p[lane];
    return bit_cast<float>(xsimd::batch<std::int32_t, Arch>::load_aligned(bits) << 16);
  }
}

/// Writes each lane as the nearest bfloat16, the even one of two equally near ones. NaN becomes quiet. The same bits
/// for every architecture, but for denormal numbers, which become 0 where the processor has an instruction for it.
template <class Arch>
inline void store_bfloat16(xsimd::batch<float, Arch> const& x, std::uint16_t* p) {
#if defined(__AVX512BF16__)
  if constexpr (has_avx512<Arch>)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), __builtin_bit_cast(__m256i, _mm512_cvtneps_pbh(x)));
  else
#endif
#if defined(__AVX512F__)
      if constexpr (has_avx512<Arch>)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(detail::narrow_to_bfloat16(x)));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    __m256i const narrow = detail::narrow_to_bfloat16(x);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(narrow), _mm256_extracti128_si256(narrow, 1)));
  } else
#endif
  {
    alignas(64) std::int32_t narrow[lanes<Arch>];
    detail::narrow_to_bfloat16(x).store_aligned(narrow);
    for (int lane = 0; lane < lanes<Arch>; ++lane) p[lane] = static_cast<std::uint16_t>(narrow[lane]);
  }
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
