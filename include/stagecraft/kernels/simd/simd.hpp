// SPDX-License-Identifier: BSD-3-Clause
// The only include of xsimd: vectors of floats, and what xsimd's releases 8.1 to 14 lack or spell differently. Kernels
// take the instruction set as their last template parameter, `class Arch`, so that two translation units with different
// compiler flags never share a kernel's symbol.
#pragma once

#include <stagecraft/kernels/simd/processor_check.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

// GCC 12 warns that the undefined pass-through operand inside its own AVX-512 intrinsics is uninitialised, wherever
// they are inlined; this region covers the intrinsics, xsimd and this header's own uses of them.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <xsimd/xsimd.hpp>

#include <stagecraft/kernels/simd/portable_registers.hpp>

namespace stagecraft::kernels {

/// The best instruction set that the compiler's flags allow: the compiler's own vectors where xsimd has none, or where
/// the program is compiled with -D STAGECRAFT_PORTABLE_REGISTERS.
#if defined(STAGECRAFT_PORTABLE_REGISTERS)
using default_architecture = portable_architecture;
#else
using default_architecture =
    std::conditional_t<xsimd::types::has_simd_register<float, xsimd::default_arch>::value &&
                           xsimd::types::has_simd_register<std::int32_t, xsimd::default_arch>::value,
                       xsimd::default_arch, portable_architecture>;
#endif

/// A register full of floats.
template <class Arch = default_architecture>
using batch = xsimd::batch<float, Arch>;

/// A register full of 32-bit unsigned integers: as many as `batch` has floats.
template <class Arch = default_architecture>
using integer_batch = xsimd::batch<std::uint32_t, Arch>;

/// The result of comparing batches. Do not write `x != x` for NaN: xsimd 8.1 returns false for it on AVX;
/// `xsimd::isnan` works.
template <class Arch = default_architecture>
using batch_mask = xsimd::batch_bool<float, Arch>;

/// Floats in a batch.
template <class Arch = default_architecture>
inline constexpr int lanes = static_cast<int>(batch<Arch>::size);

#if defined(__AVX512F__)
template <class Arch>
inline constexpr bool has_avx512 = std::is_base_of_v<xsimd::avx512f, Arch>;
#else
template <class Arch>
inline constexpr bool has_avx512 = false;
#endif

#if defined(__AVX2__)
template <class Arch>
inline constexpr bool has_avx2 = std::is_base_of_v<xsimd::avx2, Arch> && !has_avx512<Arch>;
#else
template <class Arch>
inline constexpr bool has_avx2 = false;
#endif

/// Returns x. Compilers may not fuse a product before this call with an addition after it, so that it is rounded.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> rounded(xsimd::batch<float, Arch> x) {
#if defined(__GNUC__) && defined(__SSE2__)
  asm("" : "+v"(x.data));
#elif defined(__GNUC__) && defined(__aarch64__)
  asm("" : "+w"(x.data));
#elif defined(__GNUC__)
  asm("" : "+m"(x.data));
#endif
  return x;
}

/// a * b + c, rounded once where the instruction set can: FMA3, FMA4, NEON64 and AVX-512, for which xsimd 8.1 itself
/// has no fused operation. SSE2 to AVX without FMA round twice.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> fused_multiply_add(xsimd::batch<float, Arch> const& a,
                                                                  xsimd::batch<float, Arch> const& b,
                                                                  xsimd::batch<float, Arch> const& c) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_fmadd_ps(a, b, c);
  else
#endif
    return xsimd::fma(a, b, c);
}

/// c - a * b, rounded like `fused_multiply_add`.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> fused_negative_multiply_add(xsimd::batch<float, Arch> const& a,
                                                                           xsimd::batch<float, Arch> const& b,
                                                                           xsimd::batch<float, Arch> const& c) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_fnmadd_ps(a, b, c);
  else
#endif
    return xsimd::fnma(a, b, c);
}

/// The sum of all lanes.
template <class Arch>
[[nodiscard]] inline float horizontal_sum(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_reduce_add_ps(x);
  else
#endif
#if XSIMD_VERSION_MAJOR >= 9
    return xsimd::reduce_add(x);
#else
  return xsimd::hadd(x);
#endif
}

/// The largest lane. Unspecified which if a lane is NaN.
template <class Arch>
[[nodiscard]] inline float horizontal_max(xsimd::batch<float, Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_reduce_max_ps(x);
  else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    float largest = values[0];
    for (int lane = 1; lane < lanes<Arch>; ++lane) largest = values[lane] > largest ? values[lane] : largest;
    return largest;
  }
}

/// The larger of x and the limit, NaN where x is NaN. (xsimd's max follows the processor before release 14, std::max
/// from then on; the order of the operands decides the result of NaN.)
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> at_least(xsimd::batch<float, Arch> const& x,
                                                        xsimd::batch<float, Arch> const& limit) {
#if XSIMD_VERSION_MAJOR >= 14
  return xsimd::max(x, limit);
#else
  return xsimd::max(limit, x);
#endif
}

/// The smaller of x and the limit, NaN where x is NaN.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> at_most(xsimd::batch<float, Arch> const& x,
                                                       xsimd::batch<float, Arch> const& limit) {
#if XSIMD_VERSION_MAJOR >= 14
  return xsimd::min(x, limit);
#else
  return xsimd::min(limit, x);
#endif
}

/// The bits of a register as another element type of the same width.
template <class To, class From, class Arch>
[[nodiscard]] inline xsimd::batch<To, Arch> bit_cast(xsimd::batch<From, Arch> const& x) {
#if XSIMD_VERSION_MAJOR >= 12
  return xsimd::bitwise_cast<To>(x);
#else
  return xsimd::bitwise_cast<xsimd::batch<To, Arch>>(x);
#endif
}

namespace detail {

/// -1 (all bits set) `lanes` times, then 0 as often: a load at `lanes - count` gives a mask of the first `count`.
alignas(64) inline constexpr std::int32_t first_lanes[32] = {
    -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

#if defined(__AVX2__)
/// Writes the first `count` < 8 lanes of x to p in parts of 4, 2 and 1: with AVX2 a masked store takes many times as
/// long.
template <class Arch>
[[gnu::always_inline]] inline void store_parts(xsimd::batch<float, Arch> const& x, float* p, int count) {
  __m128 part = _mm256_castps256_ps128(x);
  if ((count & 4) != 0) {
    _mm_storeu_ps(p, part);
    part = _mm256_extractf128_ps(x, 1);
    p += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), part);
    part = _mm_movehl_ps(part, part);
    p += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(p, part);
}
#endif

}  // namespace detail

/// The first `count` floats at p, 0 in the other lanes; reads nothing after them. 0 <= count <= lanes.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_first(float const* p, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1U), p);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    return _mm256_maskload_ps(p,
                              _mm256_loadu_si256(reinterpret_cast<__m256i const*>(detail::first_lanes + 16 - count)));
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>] = {};
    std::memcpy(values, p, static_cast<std::size_t>(count) * sizeof(float));
    return batch<Arch>::load_aligned(values);
  }
}

/// Writes the first `count` lanes of x to p and nothing after them. 0 <= count <= lanes.
template <class Arch>
inline void store_first(xsimd::batch<float, Arch> const& x, float* p, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1U), x);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    count < lanes<Arch> ? detail::store_parts(x, p, count) : x.store_unaligned(p);
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    x.store_aligned(values);
    std::memcpy(p, values, static_cast<std::size_t>(count) * sizeof(float));
  }
}

/// `load_first` for a number of lanes that is known at compile time: a plain load if it is all of them, a half, a
/// quarter or one.
template <int Count, class Arch = default_architecture>
[[nodiscard, gnu::always_inline]] inline batch<Arch> load_lanes(float const* p) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>) return batch<Arch>::load_unaligned(p);
#if defined(__AVX512F__)
  else if constexpr (has_avx512<Arch> && Count == 8)
    return _mm512_zextps256_ps512(_mm256_loadu_ps(p));
  else if constexpr (has_avx512<Arch> && Count == 4)
    return _mm512_zextps128_ps512(_mm_loadu_ps(p));
  else if constexpr (has_avx512<Arch> && Count == 1)
    return _mm512_zextps128_ps512(_mm_load_ss(p));
#endif
#if defined(__AVX2__)
  else if constexpr (has_avx2<Arch> && Count == 4)
    return _mm256_zextps128_ps256(_mm_loadu_ps(p));
  else if constexpr (has_avx2<Arch> && Count == 1)
    return _mm256_zextps128_ps256(_mm_load_ss(p));
#endif
  else
    return load_first<Arch>(p, Count);
}

/// x with 0 in all but the first `count` lanes. 0 <= count <= lanes.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> keep_first(xsimd::batch<float, Arch> const& x, int count) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_maskz_mov_ps(static_cast<__mmask16>((1U << count) - 1U), x);
  else
#endif
    return x & bit_cast<float>(xsimd::batch<std::int32_t, Arch>::load_unaligned(detail::first_lanes + 16 - count));
}

/// The first Count floats at p, `fill` in the other lanes; reads nothing after them.
template <int Count, class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_lanes_or(float const* p, float fill) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>) {
    return batch<Arch>::load_unaligned(p);
  } else {
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>)
      return _mm512_mask_loadu_ps(batch<Arch>(fill), static_cast<__mmask16>((1U << Count) - 1U), p);
    else
#endif
#if defined(__AVX2__)
        if constexpr (has_avx2<Arch>)
      return _mm256_blend_ps(batch<Arch>(fill), load_first<Arch>(p, Count), (1 << Count) - 1);
    else
#endif
    {
      alignas(64) float values[lanes<Arch>];
      for (int lane = 0; lane < lanes<Arch>; ++lane) values[lane] = lane < Count ? p[lane] : fill;
      return batch<Arch>::load_aligned(values);
    }
  }
}

/// `store_first` for a number of lanes that is known at compile time: a plain store if it is all of them, a half, a
/// quarter or one. Processors do not forward what a masked store has written to the load that follows it.
template <int Count, class Arch>
[[gnu::always_inline]] inline void store_lanes(xsimd::batch<float, Arch> const& x, float* p) {
  static_assert(Count > 0 && Count <= lanes<Arch>);
  if constexpr (Count == lanes<Arch>) x.store_unaligned(p);
#if defined(__AVX512F__)
  else if constexpr (has_avx512<Arch> && Count == 8)
    _mm256_storeu_ps(p, _mm512_castps512_ps256(x));
  else if constexpr (has_avx512<Arch> && Count == 4)
    _mm_storeu_ps(p, _mm512_castps512_ps128(x));
  else if constexpr (has_avx512<Arch> && Count == 1)
    _mm_store_ss(p, _mm512_castps512_ps128(x));
#endif
  else
    store_first(x, p, Count);
}

/// Asks for the cache line of p, which will be read soon. Any address will do.
inline void prefetch([[maybe_unused]] float const* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#endif
}

/// y[i] = function(batch of x[0][i]...) for i in [0, n). Any y may be one of the x: each batch is read before it is
/// written. Nothing after n is read or written; the function sees 0 in the unused lanes of the last batch.
template <class Arch, class Function, std::same_as<float const*>... Inputs>
inline void transform(std::int64_t n, Function const& function, float* y, Inputs... x) {
  constexpr int width = lanes<Arch>;
  std::int64_t i = 0;
  for (; i + width <= n; i += width) function(batch<Arch>::load_unaligned(x + i)...).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first<Arch>(function(load_first<Arch>(x + i, rest)...), y + i, rest);
}

/// `transform` of one array with a function that replaces the batches of an array `batch<Arch>[N]` by its results, for
/// N = 4 and 1.
template <class Arch, class Function>
inline void transform_each(std::int64_t n, Function const& function, float const* x, float* y) {
  constexpr int width = lanes<Arch>;
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width) {
    batch<Arch> values[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) values[k] = batch<Arch>::load_unaligned(x + i + k * width);
    function(values);
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) values[k].store_unaligned(y + i + k * width);
  }
  for (; i < n; i += width) {
    int const count = static_cast<int>(n - i < width ? n - i : width);
    batch<Arch> values[1] = {load_first<Arch>(x + i, count)};
    function(values);
    store_first(values[0], y + i, count);
  }
}

/// The sum of function(batch of x[0][i]...) over i in [0, n), in four partial sums. The function must return 0 where
/// all its arguments are 0, as in the unused lanes of the last batch.
template <class Arch, class Function, std::same_as<float const*>... Inputs>
[[nodiscard]] inline float transform_sum(std::int64_t n, Function const& function, Inputs... x) {
  constexpr int width = lanes<Arch>;
  batch<Arch> sum[4] = {batch<Arch>(0.0F), batch<Arch>(0.0F), batch<Arch>(0.0F), batch<Arch>(0.0F)};
  std::int64_t i = 0;
  for (; i + 4 * width <= n; i += 4 * width)
    for (int part = 0; part < 4; ++part)
      sum[part] = sum[part] + function(batch<Arch>::load_unaligned(x + i + part * width)...);
  for (; i + width <= n; i += width) sum[0] = sum[0] + function(batch<Arch>::load_unaligned(x + i)...);
  if (int const rest = static_cast<int>(n - i); rest > 0) sum[1] = sum[1] + function(load_first<Arch>(x + i, rest)...);
  return horizontal_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
