// SPDX-License-Identifier: BSD-3-Clause
// NaN among numbers that are compared: the processors' maximum of two drops one of them.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <type_traits>

namespace stagecraft::kernels {

/// The larger of two in each lane, and NaN where one of them is. Definition: numpy.maximum.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> larger(xsimd::batch<float, Arch> const& a,
                                                      xsimd::batch<float, Arch> const& b) {
  return xsimd::select(xsimd::isnan(a), a, at_least(b, a));
}

/// The lanes in which one of many numbers is NaN. Two numbers cost one comparison, which is half of what a maximum that
/// looks at each number costs.
template <class Arch>
class lanes_with_nan {
 public:
  using value = xsimd::batch<float, Arch>;

  void add(value const& a, value const& b) {
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>)
      ordered_ = _mm512_mask_cmp_ps_mask(ordered_, a, b, _CMP_ORD_Q);
    else
#endif
#if defined(__AVX__)
        if constexpr (lanes<Arch> == 8)
      some_ = _mm256_or_ps(some_, _mm256_cmp_ps(a, b, _CMP_UNORD_Q));
    else
#endif
      some_ = some_ | (xsimd::select(xsimd::isnan(a), a, value(0.0F)) | xsimd::select(xsimd::isnan(b), b, value(0.0F)));
  }
  /// Whether there is one in any lane.
  [[nodiscard]] bool any() const {
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>)
      return ordered_ != 0xFFFF;
    else
#endif
#if defined(__AVX__)
        if constexpr (lanes<Arch> == 8)
      return _mm256_movemask_ps(some_) != 0;
    else
#endif
      return xsimd::any(xsimd::isnan(some_));
  }
  /// The numbers, but NaN in these lanes.
  [[nodiscard]] value set_in(value const& x) const {
#if defined(__AVX512F__)
    if constexpr (has_avx512<Arch>)
      return _mm512_mask_blend_ps(ordered_, _mm512_set1_ps(__builtin_nanf("")), x);
    else
#endif
      return x | some_;  // where there is none, all bits are 0
  }

 private:
#if defined(__AVX512F__)
  std::conditional_t<has_avx512<Arch>, __mmask16, bool> ordered_ = static_cast<__mmask16>(0xFFFF);
#endif
  value some_ = value(0.0F);
};

}  // namespace stagecraft::kernels
