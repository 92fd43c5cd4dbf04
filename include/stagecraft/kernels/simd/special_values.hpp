// SPDX-License-Identifier: BSD-3-Clause
// Special floating-point values: the search for infinity and NaN (Keras counterpart: tf.debugging.check_numerics),
// maxima that keep NaN, which the processors' maximum of two drops, and arithmetic without denormal numbers, which
// processors treat a hundred times as slowly as others.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <cstdint>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// The special values that were found.
struct special_values {
  bool infinity = false;
  bool nan = false;

  friend constexpr bool operator==(special_values const&, special_values const&) = default;
  friend constexpr special_values operator|(special_values const& a, special_values const& b) {
    return {a.infinity || b.infinity, a.nan || b.nan};
  }
};

/// Searches n floats. It uses no floating-point operation, so that no status flag of the processor changes.
template <class Arch = default_architecture>
[[nodiscard]] inline special_values find_special_values(float const* x, std::int64_t n) {
  using integers = xsimd::batch<std::int32_t, Arch>;
  constexpr int width = lanes<Arch>;
  integers const infinite(0x7F800000);
  integers infinities(0), nans(0);
  auto const look_at = [&](batch<Arch> const& values) {
    integers const size = bit_cast<std::int32_t>(values) & integers(0x7FFFFFFF);
    // The sign bit is the result: that of 0 - 1, and that of a difference to a NaN.
    infinities = infinities | ((size ^ infinite) - integers(1));
    nans = nans | (infinite - size);
  };
  std::int64_t i = 0;
  for (; i + width <= n; i += width) look_at(batch<Arch>::load_unaligned(x + i));
  if (int const rest = static_cast<int>(n - i); rest > 0) look_at(load_first<Arch>(x + i, rest));
  return {xsimd::any(infinities < integers(0)), xsimd::any(nans < integers(0))};
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace stagecraft::kernels {

/// The larger of two numbers in each lane, and NaN where one of them is NaN. Definition: numpy.maximum.
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
  /// True if any lane has a NaN.
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
  /// The numbers with NaN in these lanes.
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

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace stagecraft::kernels {

/// During its lifetime, numbers below 2^-126 in size are 0 in the arithmetic of the calling thread: results as well as
/// operands. An optimizer's state decays into them where gradients stay 0. TensorFlow's threads do the same. It has
/// no effect on processors other than x86.
class flush_denormals {
 public:
#if defined(__SSE2__)
  flush_denormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | denormals_are_zero); }
  ~flush_denormals() { _mm_setcsr(before_); }
#else
  flush_denormals() {}
  ~flush_denormals() {}
#endif
  flush_denormals(flush_denormals const&) = delete;
  flush_denormals& operator=(flush_denormals const&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

  unsigned before_;
#endif
};

}  // namespace stagecraft::kernels
