// SPDX-License-Identifier: BSD-3-Clause
// The last elements of a row.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

namespace detail {

/// The first `count` floats at p; the other lanes repeat the first, so that no operation on them raises a
/// floating-point exception of its own, such as that of 0 / 0.
template <class Arch>
[[nodiscard]] inline batch<Arch> load_repeating(float const* p, int count) {
  batch<Arch> const first(*p);
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_mask_loadu_ps(first, static_cast<__mmask16>((1U << count) - 1U), p);
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    auto const mask = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(first_lanes + 16 - count));
    return _mm256_blendv_ps(first, _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask));
  } else
#endif
  {
    alignas(64) float values[lanes<Arch>];
    first.store_aligned(values);
    std::memcpy(values, p, static_cast<std::size_t>(count) * sizeof(float));
    return batch<Arch>::load_aligned(values);
  }
}

}  // namespace detail

}  // namespace stagecraft::kernels
