// SPDX-License-Identifier: BSD-3-Clause
// Parts of a register whose number of lanes is a constant, for code that keeps few numbers in registers.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

// GCC 12 warns of the undefined operand inside its own AVX-512 intrinsics, where they are inlined (see simd.hpp).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

#if defined(__AVX512F__)
/// Whether half a register does for few lanes: half the bytes of weights, and no mask.
template <class Arch>
inline constexpr bool has_half_registers = has_avx512<Arch>;
/// Half a register.
using half_register = xsimd::batch<float, xsimd::fma3<xsimd::avx2>>;
#else
template <class Arch>
inline constexpr bool has_half_registers = false;
using half_register = batch<>;
#endif

/// The lanes of half a register, and zeros or anything else in the others.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> widened(half_register const& x) {
#if defined(__AVX512F__)
  if constexpr (has_half_registers<Arch>)
    return _mm512_castps256_ps512(x);
  else
#endif
    return batch<Arch>(x.get(0));
}

/// The first Lanes floats at p; the other lanes are 0. Halves and quarters are read without a mask.
template <int Lanes, class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> load_part(float const* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && Lanes == 8)
    return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  else if constexpr (has_avx512<Arch> && Lanes == 4)
    return _mm512_zextps128_ps512(_mm_loadu_ps(p));
  else
#endif
    return load_lanes<Lanes, Arch>(p);
}

/// Writes the first Lanes lanes of x to p. Halves and quarters are written without a mask: processors do not forward
/// what a masked store has written to the load that follows it.
template <int Lanes, class Arch>
[[gnu::always_inline]] inline void store_part(xsimd::batch<float, Arch> const& x, float* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch> && Lanes == 8)
    _mm256_storeu_ps(p, _mm512_castps512_ps256(x));
  else if constexpr (has_avx512<Arch> && Lanes == 4)
    _mm_storeu_ps(p, _mm512_castps512_ps128(x));
  else
#endif
    store_lanes<Lanes>(x, p);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
