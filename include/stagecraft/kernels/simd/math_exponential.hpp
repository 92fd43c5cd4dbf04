// SPDX-License-Identifier: BSD-3-Clause
// Exponentials of batches of floats, and the tables of math.hpp that AVX-512 keeps in registers. math.hpp describes the
// methods and errors.
//
// Every number is our own least-squares fit, weighted for the relative error, with the coefficients rounded to floats
// one after the other. In the first piece, which begins at 0, the coefficient 0 is 0: the error stays relative.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_float_parts.hpp>
#include <cstdint>

namespace stagecraft::kernels::detail {

/// A polynomial on each of 32 pieces of an axis: coefficient[p][i] belongs to the power p in piece i.
template <int Degree>
using piecewise_polynomial = float[Degree + 1][32];

/// tanh on pieces of 1/8 below 1, 1/4 below 3, 1/2 below 7 and 1 below 10, in powers of the distance from a piece's
/// begin. The number of a piece: the exponent's lowest two bits and the mantissa's first three of x + 1.
alignas(64) inline constexpr piecewise_polynomial<5> tanh_pieces = {
    {0.7615942F,  0.84828365F, 0.90514827F, 0.94137555F, 0.9640276F,  0.9780261F, 0.9866143F,  0.99185973F,
     0.9950548F,  0.9981779F,  0.9993293F,  0.99975324F, 0.9999092F,  0.9999666F, 0.9999877F,  0.99999547F,
     0.99999833F, 0.99999976F, 0.99999994F, 0.0F,        0.0F,        0.0F,       0.0F,        0.0F,
     0.0F,        0.124353F,   0.24491866F, 0.3583574F,  0.46211717F, 0.5545997F, 0.63514894F, 0.7039056F},
    {0.41997313F,    0.28041446F,   0.1807056F,     0.113810904F,  0.07065053F,    0.043466717F,   0.026593111F,
     0.016213516F,   0.009864724F,  0.003641269F,   0.0013397685F, 4.924693e-04F,  1.8086456e-04F, 6.5833345e-05F,
     2.4184292e-05F, 9.413247e-06F, 3.4419916e-06F, 7.168895e-07F, 6.4378435e-07F, 0.0F,           0.0F,
     0.0F,           0.0F,          0.0F,           1.0F,          0.98453677F,    0.9400153F,     0.8715797F,
     0.7864464F,     0.6924224F,    0.5965874F,     0.5045204F},
    {-0.31983796F,
     -0.2378719F,
     -0.16354682F,
     -0.1071139F,
     -0.068102404F,
     -0.042549502F,
     -0.026255557F,
     -0.01606463F,
     -0.009799042F,
     -0.0036371718F,
     -0.0013262887F,
     -4.814629e-04F,
     -1.7344608e-04F,
     -5.589824e-05F,
     -2.0173282e-05F,
     -1.3203742e-05F,
     -3.9607653e-06F,
     -1.9420017e-06F,
     -3.324699e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     3.0252062e-07F,
     -0.12244819F,
     -0.23024543F,
     -0.3123217F,
     -0.3633681F,
     -0.38416183F,
     -0.37899402F,
     -0.3552923F},
    {0.103729665F,   0.10846759F,    0.087697886F,   0.06269516F,    0.04203958F,    0.027440708F,  0.017189039F,
     0.010378999F,   0.006369116F,   0.0024163837F,  8.2510617e-04F, 2.726779e-04F,  8.333077e-05F, -5.524901e-06F,
     -3.821173e-06F, 2.5027679e-05F, 3.6087358e-06F, 3.7020347e-06F, 7.4995933e-06F, 0.0F,          0.0F,
     0.0F,           0.0F,           0.0F,           -0.33335513F,   -0.31268802F,   -0.25671685F,  -0.1789839F,
     -0.09542776F,   -0.015152614F,  0.04316507F,    0.084780246F},
    {0.025293732F,
     -0.01448715F,
     -0.025011439F,
     -0.022723798F,
     -0.017569454F,
     -0.013658716F,
     -0.008652072F,
     -0.0043798103F,
     -0.0028367585F,
     -0.0011563218F,
     -2.931065e-04F,
     -4.5479235e-05F,
     1.7317381e-05F,
     7.8743346e-05F,
     3.254695e-05F,
     -4.0893272e-05F,
     -2.3651776e-06F,
     -3.533737e-06F,
     -7.476817e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     4.654501e-04F,
     0.078819305F,
     0.13952549F,
     0.17286067F,
     0.1756338F,
     0.11671015F,
     0.08873541F,
     0.036482118F},
    {-0.034336694F,
     -0.010480072F,
     -3.626391e-05F,
     0.0031441709F,
     0.004157649F,
     0.005597392F,
     0.0034321118F,
     6.308699e-04F,
     6.935002e-04F,
     3.294783e-04F,
     2.3960845e-05F,
     -3.6670837e-05F,
     -3.8271894e-05F,
     -6.671668e-05F,
     -2.7146869e-05F,
     2.846164e-05F,
     7.1963757e-07F,
     1.2659905e-06F,
     2.7162705e-06F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.0F,
     0.13001752F,
     0.10803175F,
     0.057216905F,
     -0.009952594F,
     -0.06925006F,
     0.0027261858F,
     -0.031266242F,
     0.015481114F}};

/// erf around the multiples of 1/8 below 4, in powers of the distance from them.
alignas(64) inline constexpr piecewise_polynomial<4> erf_pieces = {
    {0.0F,       0.1403162F, 0.2763264F,  0.4041169F,  0.5204999F,  0.6232409F,  0.71115565F, 0.7840751F,
     0.8427008F, 0.8883882F, 0.92290014F, 0.94817007F, 0.96610516F, 0.97844374F, 0.9866717F,  0.99199003F,
     0.9953223F, 0.997346F,  0.9985373F,  0.99921703F, 0.999593F,   0.9997946F,  0.9998994F,  0.99995214F,
     0.9999779F, 0.9999901F, 0.9999957F,  0.9999982F,  0.9999993F,  0.9999997F,  0.9999999F,  0.99999994F},
    {1.1283792F,    1.1108848F,     1.0600138F,    0.9803526F,    0.8787826F,    0.7634997F,     0.64293134F,
     0.52474535F,   0.41510782F,    0.31827426F,   0.23652135F,   0.17035992F,   0.11893036F,    0.08047227F,
     0.052774966F,  0.033545773F,   0.020666923F,  0.012340761F,  0.007142268F,  0.004006438F,   0.002178255F,
     0.001147855F,  5.8626407e-04F, 2.902201e-04F, 1.392482e-04F, 6.475593e-05F, 2.9187524e-05F, 1.27509575e-05F,
     5.399034e-06F, 2.2157308e-06F, 8.813442e-07F, 3.3978304e-07F},
    {-2.3517553e-06F, -0.13885552F,    -0.26499984F,    -0.36762077F,    -0.43939823F,   -0.4771931F,
     -0.48221806F,    -0.4591728F,     -0.41509384F,    -0.3580428F,     -0.2956639F,    -0.23423779F,
     -0.17841259F,    -0.13077629F,    -0.09237161F,    -0.06286993F,    -0.041356564F,  -0.026237892F,
     -0.016089248F,   -0.009486287F,   -0.005416511F,   -0.0029907627F,  -0.0016217559F, -8.265241e-04F,
     -3.943802e-04F,  -2.0478819e-04F, -1.0637749e-04F, -7.0829636e-05F, -4.740833e-05F, -5.0802223e-06F,
     2.30836e-06F,    1.6184125e-05F},
    {-0.3763811F,    -0.35821962F,   -0.3087874F,    -0.2346505F,    -0.14643604F,   -0.055808816F,  0.026523188F,
     0.09260197F,    0.13803487F,    0.16215035F,    0.16730517F,    0.15778677F,    0.13867873F,    0.11483044F,
     0.09018912F,    0.06749709F,    0.048286702F,   0.03309847F,    0.02177661F,    0.013771359F,   0.008379984F,
     0.004911047F,   0.0027738642F,  0.0015109094F,  7.9407234e-04F, 4.0284137e-04F, 1.9734554e-04F, 9.3384595e-05F,
     4.2697586e-05F, 1.8867668e-05F, 8.0596365e-06F, 3.3287288e-06F},
    {0.011386159F,  0.06721415F,    0.1259219F,     0.16398576F,    0.18427847F,     0.17750242F,   0.1546352F,
     0.11664536F,   0.06642132F,    0.024891088F,   -0.003510857F,  -0.03182045F,    -0.04100648F,  -0.0478437F,
     -0.044917904F, -0.048079733F,  -0.029816383F,  -0.023573272F,  -0.015198111F,   -0.019105239F, -0.0146138845F,
     -0.010012964F, -0.0013206506F, -0.0035007163F, -0.0058354395F, -6.4367116e-05F, 0.0020702432F, 0.0055494164F,
     0.00577088F,   -6.360007e-04F, -0.0011636126F, -0.0035901614F}};

/// The normal distribution function less 1/2 on 8 pieces of [0, 5.5), in powers of the distance from a piece's middle.
/// At 5.49, to which larger arguments are limited, it is 1/2.
alignas(32) inline constexpr float normal_pieces[7][8] = {
    {0.13448285F, 0.3487882F, 0.45717004F, 0.4919414F, 0.49901178F, 0.49992198F, 0.49999607F, 0.49999988F},
    {0.3760546F, 0.2344117F, 0.09108253F, 0.022060689F, 0.0033306659F, 0.000313452F, 1.838998e-05F, 6.8700103e-07F},
    {-0.06463418F, -0.120868474F, -0.07827302F, -0.02654261F, -0.0051527442F, -0.00059250684F, -4.1087525e-05F,
     -1.9984332e-06F},
    {-0.055261083F, 0.0024709676F, 0.029662995F, 0.017613217F, 0.0047581866F, 0.0006945691F, 5.801063e-05F,
     2.8580284e-06F},
    {0.015514955F, 0.019504014F, 0.00028194598F, -0.006156271F, -0.0028088659F, -0.00055998104F, -5.8037233e-05F,
     2.5221489e-06F},
    {0.0070737414F, -0.004236468F, -0.0045178006F, 0.00028618574F, 0.0010248456F, 0.00032223883F, 4.5368208e-05F,
     3.3062747e-06F},
    {-0.0024030053F, -0.0018230347F, 0.0013222604F, 0.0006223539F, -0.00021583709F, -0.00011614259F, -2.5255524e-05F,
     -3.5533194e-05F}};

/// The length of these pieces.
inline constexpr float normal_piece_width = 0.6875F;

/// 2^(i/16), rounded.
alignas(64) inline constexpr float roots_of_two[16] = {
    1.0F,       1.0442737F, 1.0905077F, 1.1387886F, 1.1892071F, 1.2418578F, 1.2968396F, 1.3542556F,
    1.4142135F, 1.4768262F, 1.5422108F, 1.6104903F, 1.6817929F, 1.7562522F, 1.8340081F, 1.9152066F};

/// 2^(i/16) less its rounded value.
alignas(64) inline constexpr float roots_of_two_rest[16] = {
    0.0F,          4.83347e-08F,    -1.307754e-08F,  5.3862223e-08F, 3.7976353e-08F,
    4.496838e-08F, -4.0189995e-08F, -1.0123349e-08F, 2.4203235e-08F, -4.500899e-08F,
    8.070905e-09F, 9.836217e-09F,   -2.4755327e-08F, -9.23577e-09F,  -1.1239278e-08F,
    9.845328e-09F};

}  // namespace stagecraft::kernels::detail

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

/// Sets each sum to c0 + c1 x + c2 x^2 + ...
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
  for (int i = 0; i < Count; ++i)
    x[i] = limit_magnitude(x[i], 0.025F);  // changes only results far outside, where n alone decides
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

/// True if all lanes are in [-87, 87], so that `normal_exponentials` takes them.
template <class Arch, int Count>
[[nodiscard]] inline bool have_normal_exponentials(batch<Arch> const (&x)[Count]) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  // They are compared as integers, which lose no NaN.
  integer largest = bit_cast<std::int32_t>(xsimd::abs(x[0]));
#pragma GCC unroll 4
  for (int i = 1; i < Count; ++i) largest = xsimd::max(largest, bit_cast<std::int32_t>(xsimd::abs(x[i])));
  return !xsimd::any(largest > bit_cast<std::int32_t>(batch<Arch>(87.0F)));
}

/// The last bits of y + this are those of the integer that is nearest to y.
inline constexpr float rounding_shift = 0x1.8p23F;

/// Replaces each x = n ln 2 + r by r, and sets `shifted` to n + `rounding_shift`.
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

/// Replaces each x = n ln 2 + r by e^r, and sets `shifted` to n + `rounding_shift`.
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
