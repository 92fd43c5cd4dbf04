// SPDX-License-Identifier: BSD-3-Clause
// Conversions of floats to and from narrow types, which are kept as std::uint16_t: IEEE binary16 (halves) and bfloat16.
// Only memory holds them; arithmetic is done in floats, but for products of pairs of bfloat16. Keras counterpart:
// tf.cast between tf.float32 and tf.float16 or tf.bfloat16.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

#if defined(__F16C__)
/// True if F16C converts the registers of an architecture.
template <class Arch>
inline constexpr bool has_f16c = std::is_base_of_v<xsimd::avx, Arch> && !has_avx512<Arch>;
#else
template <class Arch>
inline constexpr bool has_f16c = false;
#endif

/// The value of the half in the lower 16 bits of each lane; the upper bits are 0. No step reads or makes a denormal
/// float.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> widen_halves(xsimd::batch<std::int32_t, Arch> const& half) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  integer const magnitude = (half & integer(0x7FFF)) << 13;
  integer const sign = (half & integer(0x8000)) << 16;
  // The bits of a denormal, with an exponent set before them, are 2^-14 too much: the difference is exact.
  integer const rebiased = magnitude + integer(112 << 23);
  integer const denormal = bit_cast<std::int32_t>(bit_cast<float>(rebiased + integer(1 << 23)) - 0x1p-14F);
  integer const special = magnitude + integer(224 << 23);
  integer const quiet = special | integer(0x00400000);
  integer const large = xsimd::select(magnitude > integer(0x7C00 << 13), quiet, special);
  integer const finite = xsimd::select(magnitude < integer(0x0400 << 13), denormal, rebiased);
  return bit_cast<float>(xsimd::select(magnitude < integer(0x7C00 << 13), finite, large) | sign);
}

/// The nearest half of each lane, in its lower 16 bits.
template <class Arch>
[[nodiscard]] inline xsimd::batch<std::int32_t, Arch> narrow_to_halves(xsimd::batch<float, Arch> const& x) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  integer const bits = bit_cast<std::int32_t>(x);
  integer const magnitude = bits & integer(0x7FFFFFFF);
  integer const fraction = (magnitude >> 13) & integer(0x3FF);
  // A carry out of the fraction is right in the exponent, even the one that leads to infinity.
  integer const odd = fraction & integer(1);
  integer const normal = (magnitude - integer((112 << 23) - 0xFFF) + odd) >> 13;
  // The last bit of 1/2 weighs as much as that of denormal halves: the sum is rounded where they end.
  integer const denormal = bit_cast<std::int32_t>(bit_cast<float>(magnitude) + 0.5F) - integer(0x3F000000);
  integer const finite = xsimd::select(magnitude < integer(113 << 23), denormal, normal);
  integer const special = xsimd::select(magnitude > integer(255 << 23), integer(0x7E00) | fraction, integer(0x7C00));
  integer const half = xsimd::select(magnitude < integer(143 << 23), finite, special);
  return half | ((bits >> 16) & integer(0x8000));
}

}  // namespace detail

/// The floats that `lanes` halves stand for. Exact; a signalling NaN becomes quiet.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_halves(std::uint16_t const* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)));
  else
#endif
#if defined(__F16C__)
      if constexpr (detail::has_f16c<Arch>)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
  else
#endif
  {
    alignas(64) std::int32_t halves[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane) halves[lane] = p[lane];
    return detail::widen_halves(xsimd::batch<std::int32_t, Arch>::load_aligned(halves));
  }
}

/// Writes each lane as the nearest half: the even one of two equally near ones, infinity from 65520 on. Of a NaN, the
/// sign and the upper bits are kept, and it becomes quiet. The same bits for every architecture.
template <class Arch>
inline void store_halves(xsimd::batch<float, Arch> const& x, std::uint16_t* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  else
#endif
#if defined(__F16C__)
      if constexpr (detail::has_f16c<Arch>)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  else
#endif
  {
    alignas(64) std::int32_t halves[lanes<Arch>];
    detail::narrow_to_halves(x).store_aligned(halves);
    for (int lane = 0; lane < lanes<Arch>; ++lane) p[lane] = static_cast<std::uint16_t>(halves[lane]);
  }
}

/// `load_halves` of the first `count` halves at p, 0 in the other lanes; reads nothing after them.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_first_halves(std::uint16_t const* p, int count) {
  alignas(64) std::uint16_t halves[lanes<Arch>] = {};
  std::memcpy(halves, p, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
  return load_halves<Arch>(halves);
}

/// `store_halves` of the first `count` lanes; writes nothing after them.
template <class Arch>
inline void store_first_halves(xsimd::batch<float, Arch> const& x, std::uint16_t* p, int count) {
  alignas(64) std::uint16_t halves[lanes<Arch>];
  store_halves(x, halves);
  std::memcpy(p, halves, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

/// y = the floats that the n halves x stand for, as `load_halves`.
template <class Arch = default_architecture>
inline void floats_of_halves(std::uint16_t const* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) load_halves<Arch>(x + i).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first<Arch>(load_first_halves<Arch>(x + i, rest), y + i, rest);
}

/// y = the halves that are nearest to the n floats x, as `store_halves`.
template <class Arch = default_architecture>
inline void halves_of_floats(float const* x, std::uint16_t* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) store_halves<Arch>(batch<Arch>::load_unaligned(x + i), y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first_halves<Arch>(load_first<Arch>(x + i, rest), y + i, rest);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

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
