// SPDX-License-Identifier: BSD-3-Clause
// The parts of floats for elementary functions: rounding, exponent, mantissa and sign of a batch, and tables in
// registers.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>
#include <limits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// x rounded to an integer, halves to the even one.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> round_to_integer(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  else
#endif
    return xsimd::nearbyint(x);
}

/// The absolute value of `magnitude` with the sign of `sign`, zeros and NaN included.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> copy_sign(xsimd::batch<float, Arch> const& magnitude,
                                                         xsimd::batch<float, Arch> const& sign) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(std::numeric_limits<std::int32_t>::min()),
                                                         _mm512_castps_si512(sign), _mm512_castps_si512(magnitude),
                                                         0xCA));  // bit by bit: the first chooses second or third
  else
#endif
    return xsimd::abs(magnitude) | (sign & xsimd::batch<float, Arch>(-0.0F));
}

/// 2^n for integers n in [-126, 127].
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> power_of_two(xsimd::batch<float, Arch> const& n) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_scalef_ps(_mm512_set1_ps(1.0F), n);
  else
#endif
    return bit_cast<float>((xsimd::to_int(n) + xsimd::batch<std::int32_t, Arch>(127)) << 23);
}

/// x * 2^n rounded once, for integers n in [-252, 254]. AVX-512 rounds n down to an integer, takes any n (infinities
/// too: 2^-inf = 0) and returns NaN for n = NaN.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> scale_by_power(xsimd::batch<float, Arch> const& x,
                                                              xsimd::batch<float, Arch> const& n) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    return _mm512_scalef_ps(x, n);
  } else
#endif
  {
    using integer = xsimd::batch<std::int32_t, Arch>;
    integer const exponent = xsimd::to_int(n);
    integer const half = exponent >> 1;
    return x * bit_cast<float>((half + integer(127)) << 23) * bit_cast<float>((exponent - half + integer(127)) << 23);
  }
}

/// x = mantissa * 2^exponent.
template <class Arch>
struct float_parts {
  xsimd::batch<float, Arch> mantissa;  ///< in [0.75, 1.5)
  xsimd::batch<float, Arch> exponent;
};

/// The parts of a positive float, denormals included. AVX-512 also returns (1, -inf) for 0, (1, inf) for inf, and NaN
/// mantissas for NaN and negative numbers; other instruction sets leave the parts of these unspecified.
template <class Arch>
[[nodiscard]] inline float_parts<Arch> parts_of(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    __m512 const mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
    __m512 const exponent = _mm512_getexp_ps(x);
    __mmask16 const halved = _mm512_cmp_ps_mask(mantissa, _mm512_set1_ps(1.0F), _CMP_LT_OQ);
    return {mantissa, _mm512_mask_add_ps(exponent, halved, exponent, _mm512_set1_ps(1.0F))};
  } else
#endif
  {
    using value = xsimd::batch<float, Arch>;
    using integer = xsimd::batch<std::int32_t, Arch>;
    auto const denormal = x < value(std::numeric_limits<float>::min());
    value const normal = xsimd::select(denormal, x * value(0x1p24F), x);
    integer const bits = bit_cast<std::int32_t>(normal);
    integer const exponent = (bits - integer(0x3F400000)) >> 23;
    value const shift = xsimd::select(denormal, value(24.0F), value(0.0F));
    return {bit_cast<float>(bits - (exponent << 23)), xsimd::to_float(exponent) - shift};
  }
}

#if defined(__AVX512F__)

/// x limited to [-limit, limit]; some number of that range for NaN.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> limit_magnitude(xsimd::batch<float, Arch> const& x, float limit) {
#if defined(__AVX512DQ__)
  return _mm512_range_ps(x, _mm512_set1_ps(limit), 0x2);  // the one that is nearer to 0, with the sign of the first
#else
  return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-limit)), _mm512_set1_ps(limit));
#endif
}

/// table[index mod 16] for every lane.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> look_up(float const (&table)[16],
                                                       xsimd::batch<std::uint32_t, Arch> const& index) {
  return _mm512_permutexvar_ps(index, _mm512_load_ps(table));
}

/// table[index mod 32] for every lane.
template <class Arch>
  requires has_avx512<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> look_up(float const (&table)[32],
                                                       xsimd::batch<std::uint32_t, Arch> const& index) {
  return _mm512_permutex2var_ps(_mm512_load_ps(table), index, _mm512_load_ps(table + 16));
}

#endif

#if defined(__AVX2__)

/// table[index mod 8] for every lane.
template <class Arch>
  requires has_avx2<Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> look_up(float const (&table)[8],
                                                       xsimd::batch<std::uint32_t, Arch> const& index) {
  return _mm256_permutevar8x32_ps(_mm256_load_ps(table), index);
}

#endif

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
