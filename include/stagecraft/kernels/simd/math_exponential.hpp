// SPDX-License-Identifier: BSD-3-Clause
// Exponentials of batches of floats. What math.hpp says of methods and errors holds here, too.
#pragma once

#include <stagecraft/kernels/simd/math_tables.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_float_parts.hpp>

#include <cstdint>

namespace stagecraft::kernels {

namespace detail {

/// c0 + c1 x + c2 x^2 + ... by Horner's rule.
template <class Arch, class... Rest>
[[nodiscard]] inline batch<Arch> polynomial(xsimd::batch<float, Arch> const& x, float c0, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0)
    return batch<Arch>(c0);
  else
    return fused_multiply_add(polynomial(x, rest...), x, batch<Arch>(c0));
}

/// Each sum becomes c0 + c1 x + c2 x^2 + ...
template <class Arch, int Count, class... Rest>
inline void polynomial_each(batch<Arch> const (&x)[Count], batch<Arch> (&sum)[Count], float c0, Rest... rest) {
  if constexpr (sizeof...(Rest) == 0) {
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) sum[i] = batch<Arch>(c0);
  } else {
    polynomial_each<Arch>(x, sum, rest...);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(sum[i], x[i], batch<Arch>(c0));
  }
}

/// x = n ln 2 + rest, with an integer n.
template <class Arch>
struct exponent_and_rest {
  batch<Arch> n;
  batch<Arch> rest;
};

template <class Arch>
[[nodiscard]] inline exponent_and_rest<Arch> reduce_by_ln2(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  value const n = round_to_integer(x * value(1.44269504F));
  // ln 2 in two parts; n times the first is exact.
  value const rest = fused_negative_multiply_add(n, value(0.693359375F), x);
  return {n, fused_negative_multiply_add(n, value(-2.12194440e-4F), rest)};
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2) / 2.
template <class Arch>
[[nodiscard]] inline batch<Arch> exponential_rest(xsimd::batch<float, Arch> const& r) {
  return polynomial(r, 0.49999994F, 0.16666517F, 0.041668102F, 0.008369194F, 0.0013838962F);
}

/// ln 2 in two parts; an exponent times the first is exact.
inline constexpr float ln2_high = 0.693145752F;
inline constexpr float ln2_low = 1.42860677e-6F;

/// e^x for several registers, with tables. AVX-512 only.
template <class Arch, int Count>
inline void exponentials_with_table(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
  // x = (n + i/16) ln 2 + r. The last bits of x / ln 2 + 1.5 * 2^19 are 16 n + i.
  value const magic(0x1.8p19F);
  value shifted[Count], n[Count], sum[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) shifted[i] = fused_multiply_add(x[i], value(1.44269504F), magic);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) n[i] = shifted[i] - magic;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(n[i], value(ln2_high), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(n[i], value(ln2_low), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = limit_magnitude(x[i], 0.025F);  // counts where n alone decides: far outside
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(x[i], value(0.16666847F), value(0.50001633F));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(sum[i], x[i], value(1.0F));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = sum[i] * x[i];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) {
    auto const index = bit_cast<std::uint32_t>(shifted[i]);
    value const root = look_up(roots_of_two, index);
    x[i] = root + fused_multiply_add(root, sum[i], look_up(roots_of_two_rest, index));
  }
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = scale_by_power(x[i], n[i]);
}

/// Whether all lanes are in [-87, 87], so that `normal_exponentials` takes them.
template <class Arch, int Count>
[[nodiscard]] inline bool have_normal_exponentials(batch<Arch> const (&x)[Count]) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  // As integers, which no NaN is lost among.
  integer largest = bit_cast<std::int32_t>(xsimd::abs(x[0]));
#pragma GCC unroll 4
  for (int i = 1; i < Count; ++i) largest = xsimd::max(largest, bit_cast<std::int32_t>(xsimd::abs(x[i])));
  return !xsimd::any(largest > bit_cast<std::int32_t>(batch<Arch>(87.0F)));
}

/// The last bits of y + this are those of the integer that is nearest to y.
inline constexpr float rounding_shift = 0x1.8p23F;

/// Each x becomes r for x = n ln 2 + r, and `shifted` n + `rounding_shift`.
template <class Arch, int Count>
inline void rests_of_ln2(batch<Arch> (&x)[Count], batch<Arch> (&shifted)[Count]) {
  using value = batch<Arch>;
  value const magic(rounding_shift);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) shifted[i] = fused_multiply_add(x[i], value(1.44269504F), magic);
  // ln 2 in two parts; n times the first is exact.
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(shifted[i] - magic, value(0.693359375F), x[i]);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = fused_negative_multiply_add(shifted[i] - magic, value(-2.12194440e-4F), x[i]);
}

/// Each x becomes e^r for x = n ln 2 + r, and `shifted` n + `rounding_shift`.
template <class Arch, int Count>
inline void exponentials_of_rests(batch<Arch> (&x)[Count], batch<Arch> (&shifted)[Count]) {
  batch<Arch> rest[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) rest[i] = x[i];
  rests_of_ln2<Arch>(rest, shifted);
  polynomial_each<Arch>(rest, x, 1.0F, 1.0F, 0.49999994F, 0.16666521F, 0.041668274F, 0.008368686F, 0.0013820138F);
}

/// x * 2^n for x near 1, as `shifted` says, where the result is a normal float.
template <class Arch>
[[nodiscard]] inline batch<Arch> scale_normal(xsimd::batch<float, Arch> const& x,
                                              xsimd::batch<float, Arch> const& shifted) {
  return bit_cast<float>(bit_cast<std::int32_t>(x) + (bit_cast<std::int32_t>(shifted) << 23));
}

/// e^x for registers with all lanes in [-87, 87], whose results are normal floats.
template <class Arch, int Count>
inline void normal_exponentials(batch<Arch> (&x)[Count]) {
  batch<Arch> shifted[Count];
  exponentials_of_rests<Arch>(x, shifted);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = scale_normal(x[i], shifted[i]);
}

/// e^x of any x: the same results for those that `normal_exponentials` takes.
template <class Arch, int Count>
inline void any_exponentials(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
  for (int i = 0; i < Count; ++i) {
    value one[1] = {at_most(at_least(x[i], value(-104.0F)), value(89.0F))}, shifted[1];
    exponentials_of_rests<Arch>(one, shifted);
    x[i] = scale_by_power(one[0], shifted[0] - value(rounding_shift));
  }
}

}  // namespace detail

// Functions that end in _each replace several registers by their results, with interleaved instructions: that keeps the
// processor busier than one register after the other.

/// `exp` of each register.
template <class Arch, int Count>
inline void exp_each(xsimd::batch<float, Arch> (&x)[Count]) {
  if constexpr (has_avx512<Arch>)
    detail::exponentials_with_table<Arch>(x);
  else if (detail::have_normal_exponentials<Arch>(x)) [[likely]]
    detail::normal_exponentials<Arch>(x);
  else
    detail::any_exponentials<Arch>(x);
}

/// e^x. Error: at most 0.77, 1.02, 1.05 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> exp(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  exp_each(result);
  return result[0];
}

/// e^x - 1. Error: at most 1.47, 1.47, 1.6 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> expm1(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  auto const [n, r] = detail::reduce_by_ln2<Arch>(at_most(at_least(x, value(-18.0F)), value(89.0F)));
  value const less_one = fused_multiply_add(r * r, detail::exponential_rest(r), r);
  // Half of the result, since 2^n may be inf where the result is not.
  value const power = power_of_two(n - value(1.0F));
  value const half = fused_multiply_add(power, less_one, power - value(0.5F));
  return copy_sign(xsimd::select(xsimd::abs(x) < value(0.25F), less_one, half + half), x);
}

}  // namespace stagecraft::kernels
