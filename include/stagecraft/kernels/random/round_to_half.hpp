// SPDX-License-Identifier: BSD-3-Clause
// Floats rounded to values of half precision, in place, for tensors of halves that keep the memory layout of floats.
// Keras counterpart: tf.cast to tf.float16; rounding at random is Graphcore's stochastic rounding (IPUConfig's
// floating_point_behaviour.esr).
#pragma once

#include <stagecraft/kernels/random/random.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// The value that replaces a number too large for a half: 65504 with its sign, or NaN.
enum class half_overflow : unsigned char { largest, nan };

namespace detail {

/// All bits of the lanes in which a < b; neither is negative. (What xsimd 8 selects integers with does not compile for
/// AVX-512 without optimisation.)
template <class Arch>
[[nodiscard]] inline xsimd::batch<std::int32_t, Arch> where_less(xsimd::batch<std::int32_t, Arch> const& a,
                                                                 xsimd::batch<std::int32_t, Arch> const& b) {
  return (a - b) >> 31;
}
template <class Arch>
[[nodiscard]] inline xsimd::batch<std::int32_t, Arch> choose(xsimd::batch<std::int32_t, Arch> const& mask,
                                                             xsimd::batch<std::int32_t, Arch> const& then,
                                                             xsimd::batch<std::int32_t, Arch> const& otherwise) {
  return (mask & then) | (~mask & otherwise);
}

/// Rounds batches, and remembers whether a number was too large.
template <half_overflow Overflow, class Arch>
class half_rounder {
  using floats = xsimd::batch<float, Arch>;
  using integers = xsimd::batch<std::int32_t, Arch>;

 public:
  /// Rounds to the nearest half, the even one of two.
  [[nodiscard]] floats nearest(floats const& x) {
    integers const bits = bit_cast<std::int32_t>(x), size = bits & integers(0x7FFFFFFF);
    // A carry out of the fraction is right in the exponent.
    integers const normal = (size + integers(0xFFF) + ((size >> 13) & integers(1))) & integers(~0x1FFF);
    // The last bit of 1/2 weighs as much as that of denormal halves: the sum is rounded where they end.
    integers const sum = bit_cast<std::int32_t>(bit_cast<float>(size) + floats(0.5F));
    integers const denormal = bit_cast<std::int32_t>(bit_cast<float>(sum) - floats(0.5F));
    return finish(bits, size, choose(where_less(size, first_normal()), denormal, normal));
  }

  /// Rounds to one of the two neighbours, with probabilities that make the mean right; `uniform` is from [0, 1).
  [[nodiscard]] floats at_random(floats const& x, floats const& uniform) {
    integers const bits = bit_cast<std::int32_t>(x), size = bits & integers(0x7FFFFFFF);
    integers const normal = (size + xsimd::to_int(uniform * floats(8192.0F))) & integers(~0x1FFF);
    // Multiples of 2^-24 and the remainder; both are exact.
    floats const scaled = bit_cast<float>(size & where_less(size, first_normal())) * floats(0x1p24F);
    floats const below = xsimd::to_float(xsimd::to_int(scaled));
    floats const whole = below + xsimd::select(uniform < scaled - below, floats(1.0F), floats(0.0F));
    integers const denormal = bit_cast<std::int32_t>(whole * floats(0x1p-24F));
    return finish(bits, size, choose(where_less(size, first_normal()), denormal, normal));
  }

  [[nodiscard]] bool overflowed() const { return xsimd::any(too_large_ != integers(0)); }

 private:
  static integers first_normal() { return integers(113 << 23); }

  floats finish(integers const& bits, integers const& size, integers const& rounded) {
    integers const is_nan = where_less(integers(255 << 23), size);
    integers const too_large = where_less(integers((143 << 23) - 1), rounded) & ~is_nan;
    too_large_ = too_large_ | too_large;
    integers const limit(Overflow == half_overflow::nan ? 0x7FC00000 : 0x477FE000);
    integers const number = choose(too_large, limit, rounded);
    integers const quiet = (size & integers(~0x1FFF)) | integers(0x00400000);
    return bit_cast<float>(choose(is_nan, quiet, number) | (bits & integers(-0x7FFFFFFF - 1)));
  }

  integers too_large_ = integers(0);
};

}  // namespace detail

/// Rounds n floats to the nearest halves, in place. True if one was too large (infinity is). NaN stays NaN.
template <half_overflow Overflow, class Arch = default_architecture>
inline bool round_to_half(float* x, std::int64_t n) {
  detail::half_rounder<Overflow, Arch> rounder;
  transform<Arch>(
      n, [&](batch<Arch> const& values) { return rounder.nearest(values); }, x, static_cast<float const*>(x));
  return rounder.overflowed();
}

/// `round_to_half` that goes up or down at random, so that the mean is the number itself. Element i takes random number
/// `first` + i of the key: the same bits however the elements are divided.
template <half_overflow Overflow, class Arch = default_architecture>
inline bool round_to_half_at_random(float* x, std::int64_t n, random_key const& key, std::uint64_t first = 0) {
  detail::half_rounder<Overflow, Arch> rounder;
  std::uint64_t counter = first;
  transform<Arch>(
      n,
      [&](batch<Arch> const& values) {
        auto const uniform = random_uniform_batch<Arch>(key, counter);
        counter += static_cast<std::uint64_t>(lanes<Arch>);
        return rounder.at_random(values, uniform);
      },
      x, static_cast<float const*>(x));
  return rounder.overflowed();
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
