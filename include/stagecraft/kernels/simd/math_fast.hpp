// SPDX-License-Identifier: BSD-3-Clause
// Faster forms of the exponential, the logistic function and tanh, for predictors that ask for them
// (sc::inference::activations). They answer sooner than those of math.hpp: shorter polynomials, whose terms are added
// side by side, and with AVX-512 no division and no tables.
//
// Every coefficient is our own fit for the relative error. Errors are in units in the last place (ulp) of the correctly
// rounded result; where two numbers are given, the first holds for AVX-512 and for AVX2 with FMA, the second for SSE2.
// They bound what was measured on floats of every exponent. NaN stays NaN, infinities have the exact limits, and tanh
// and sigmoid do not leave [-1, 1] and [0, 1]. Arguments out of range may raise the processor's floating-point flags.
#pragma once

#include <stagecraft/kernels/simd/math_exponential.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_float_parts.hpp>

#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// e^x for x in [-87.3365, 88.72283]; unspecified elsewhere.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> short_exponential(batch<Arch> const& x) {
  using value = batch<Arch>;
  value const shifted = fused_multiply_add(x, value(1.44269504F), value(rounding_shift));
  value const n = shifted - value(rounding_shift);
  value const r = fused_negative_multiply_add(n, value(0.693147182F), x);
  value const square = r * r;
  value const low = fused_multiply_add(r, value(0.9999667F), value(1.0F));
  value const middle = fused_multiply_add(r, value(0.16787738F), value(0.5000301F));
  value const high = fused_multiply_add(square, value(0.041515034F), middle);
  value const power = fused_multiply_add(square, high, low);
  if constexpr (has_avx512<Arch>)
    return scale_by_power<Arch>(power, n);
  else
    return scale_normal<Arch>(power, shifted);
}

/// a / b for b in [1, 2^126], rounded up to three times.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> short_quotient(batch<Arch> const& a, batch<Arch> const& b) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>) {
    batch<Arch> const inverse = _mm512_rcp14_ps(b);
    return (a * inverse) * fused_negative_multiply_add(b, inverse, batch<Arch>(2.0F));
  } else
#endif
    return a / b;
}

}  // namespace detail

/// e^x; results below 2^-126 may be 0. Error: at most 48, 110 ulp.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, Arch> fast_exp(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  constexpr float least = -87.3365F, most = 88.72283F, inf = std::numeric_limits<float>::infinity();
  value const outside = xsimd::select(x > value(most), value(inf), at_least(x, value(0.0F)));
  return xsimd::select((x >= value(least)) & (x <= value(most)), detail::short_exponential<Arch>(x), outside);
}

namespace detail {

/// Height * tanh(x / Divisor), for powers of two, by a quotient of polynomials where |x / Divisor| is below 6.8; Height
/// with the sign of x beyond.
template <int Divisor, class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> short_tanh(batch<Arch> const& x, float height) {
  using value = batch<Arch>;
  constexpr float by = 1.0F / Divisor, square_by = by * by, limit = 6.8F * Divisor;
  value const square = x * x, fourth = square * square;
  auto const term = [=](float coefficient, int squares) {
    for (int i = 0; i < squares; ++i) coefficient *= square_by;
    return value(coefficient);
  };
  value const p = fused_multiply_add(fourth, fused_multiply_add(square, term(4.1062376e-06F, 3), term(0.002315608F, 2)),
                                     fused_multiply_add(square, term(0.12346714F, 1), term(0.99999917F, 0)));
  value const q = fused_multiply_add(fourth, fused_multiply_add(square, term(0.00014647412F, 3), term(0.021255173F, 2)),
                                     fused_multiply_add(square, term(0.45679414F, 1), term(1.0F, 0)));
  value const inside = short_quotient<Arch>(value(height * by) * x * p, q);
  return xsimd::select(xsimd::abs(x) >= value(limit), copy_sign(value(height), x), inside);
}

}  // namespace detail

/// The hyperbolic tangent; 1 from 6.8 on, and -1 up to -6.8. Error: at most 18 ulp between, 42 ulp there.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, Arch> fast_tanh(xsimd::batch<float, Arch> const& x) {
  return detail::short_tanh<1, Arch>(x, 1.0F);
}

/// 1 / (1 + e^-x); 1 from 13.6 on, and 0 up to -13.6. Error: at most 21 times 2^-24, of small results, too.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline xsimd::batch<float, Arch> fast_sigmoid(xsimd::batch<float, Arch> const& x) {
  return xsimd::batch<float, Arch>(0.5F) + detail::short_tanh<2, Arch>(x, 0.5F);
}

}  // namespace stagecraft::kernels
