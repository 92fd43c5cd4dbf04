// SPDX-License-Identifier: BSD-3-Clause
// Elementary functions of batches of floats: exponentials, logarithms, tanh, erf and the activations made of them.
//
// The reductions of the argument are the classical ones (W. Cody and W. Waite, "Software manual for the elementary
// functions", 1980; P. Tang's tables for exp, 1989); every polynomial is our own fit for the relative error, with its
// coefficients rounded to floats one after the other. AVX-512 looks pieces up in registers instead
// (math_exponential.hpp).
// Errors are in units in the last place (ulp) of the correctly rounded result; where three numbers are given, they are
// those of AVX-512, of AVX2 with FMA and of SSE2. They bound what was measured: on every float of [2^-25, 128) and its
// negative with AVX-512 and AVX2 (on every 7th with SSE2), on samples of every exponent elsewhere. Results below 2^-126
// are rounded to denormals as well. The result of NaN is NaN.
#pragma once

#include <stagecraft/kernels/simd/math_exponential.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/kernels/simd/simd_float_parts.hpp>

#include <cstdint>
#include <iterator>
#include <limits>

namespace stagecraft::kernels {

namespace detail {

/// log(1 + f) - f for f in [-0.25, 0.5].
template <class Arch>
[[nodiscard]] inline batch<Arch> logarithm_rest(xsimd::batch<float, Arch> const& f) {
  batch<Arch> const square = f * f;
  batch<Arch> const p = polynomial(f, 0.3333334F, -0.25000167F, 0.19999565F, -0.1665517F, 0.1427717F, -0.12731172F,
                                   0.116957895F, -0.090875454F, 0.03740296F);
  return fused_multiply_add(square * f, p, batch<Arch>(-0.5F) * square);
}

/// log(1 + f) + exponent * ln 2.
template <class Arch>
[[nodiscard]] inline batch<Arch> logarithm_of(xsimd::batch<float, Arch> const& f,
                                              xsimd::batch<float, Arch> const& exponent) {
  batch<Arch> const rest = fused_multiply_add(exponent, batch<Arch>(ln2_low), logarithm_rest(f));
  return fused_multiply_add(exponent, batch<Arch>(ln2_high), f + rest);
}

/// log(1 + z) for z in [0, 1].
template <class Arch>
[[nodiscard]] inline batch<Arch> log1p_of_fraction(xsimd::batch<float, Arch> const& z) {
  using value = batch<Arch>;
  auto const small = z < value(0.5F);
  value const f = xsimd::select(small, z, fused_multiply_add(value(0.5F), z, value(-0.5F)));
  return logarithm_of(f, xsimd::select(small, value(0.0F), value(1.0F)));
}

/// Replaces each x by the polynomial of its piece at x. AVX-512 only.
template <class Arch, int Terms, int Count>
inline void evaluate_pieces(float const (&coefficient)[Terms][32], integer_batch<Arch> const (&piece)[Count],
                            batch<Arch> (&x)[Count]) {
  batch<Arch> sum[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = look_up(coefficient[Terms - 1], piece[i]);
#pragma GCC unroll 8
  for (int power = Terms - 2; power >= 0; --power)
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) sum[i] = fused_multiply_add(sum[i], x[i], look_up(coefficient[power], piece[i]));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = sum[i];
}

/// Replaces x by a function of |x|, given by its pieces, with the sign of x. AVX-512 only.
template <class Arch, int Count, int Terms, class Locate>
inline void evaluate_odd_function(float const (&coefficient)[Terms][32], float largest, Locate const& locate,
                                  batch<Arch> (&x)[Count]) {
  batch<Arch> distance[Count];
  integer_batch<Arch> piece[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) distance[i] = at_most(xsimd::abs(x[i]), batch<Arch>(largest));
  locate(distance, piece);
  evaluate_pieces<Arch>(coefficient, piece, distance);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = copy_sign(distance[i], x[i]);
}

}  // namespace detail

/// The natural logarithm; log(0) = -inf, NaN below. Error: at most 0.85, 0.85, 0.9 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> log(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  auto const [mantissa, exponent] = parts_of(x);
  value const result = detail::logarithm_of<Arch>(mantissa - value(1.0F), exponent);
  if constexpr (has_avx512<Arch>) {
    return result;
  } else {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    value const special = xsimd::select(x < value(0.0F), value(nan), xsimd::select(x == value(0.0F), value(-inf), x));
    return xsimd::select((x > value(0.0F)) & (x < value(inf)), result, special);
  }
}

/// log(1 + x); -inf for -1, NaN below. Error: at most 0.85, 0.85, 0.9 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> log1p(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  value const one(1.0F);
  // 1 + x rounded gives the exponent only; the mantissa less 1 is x / 2^exponent + (1 / 2^exponent - 1). The powers
  // are four times as large, so that they are no denormals.
  value const exponent = at_most(at_least(parts_of(one + x).exponent, value(-25.0F)), value(128.0F));
  value const power = power_of_two(value(2.0F) - exponent);
  value const f = fused_multiply_add(value(0.25F) * x, power, fused_multiply_add(value(0.25F), power, -one));
  value const result = xsimd::select(xsimd::abs(x) < value(0x1p-25F), x, detail::logarithm_of(f, exponent));
  value const special = xsimd::select(x < -one, value(nan), xsimd::select(x == -one, value(-inf), x));
  return xsimd::select((x > -one) & (x < value(inf)), result, special);
}

namespace detail {

/// e^x / (1 + e^x), of x in [-87, 87] if IsNormal, else of any x with the same results for those. With x = n ln 2 + r,
/// e^r = (q + p r) / (q - p r) for polynomials q and p of r^2 (p r / q = tanh(r / 2)), with a relative error of 2e-10.
/// This takes fewer products than e^r, and the division is needed anyway.
template <bool IsNormal, class Arch>
[[nodiscard]] inline batch<Arch> sigmoid_quotient(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  value rest[1] = {IsNormal ? x : at_most(at_least(x, value(-104.0F)), value(87.0F))}, shifted[1];
  rests_of_ln2<Arch>(rest, shifted);
  value const square = rest[0] * rest[0];
  value const p = fused_multiply_add(square, value(0.00832255371F), value(0.5F));
  value const q = fused_multiply_add(square, value(0.099978365F), value(1.0F));
  value const below = fused_negative_multiply_add(p, rest[0], q);
  value above = fused_multiply_add(p, rest[0], q);
  if constexpr (IsNormal)
    above = scale_normal(above, shifted[0]);
  else
    above = scale_by_power(above, shifted[0] - value(rounding_shift));
  return above / (below + above);
}

}  // namespace detail

/// `sigmoid` of each register.
template <class Arch, int Count>
inline void sigmoid_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) x[i] = at_most(x[i], value(30.0F));
    exp_each(x);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) x[i] = x[i] / (value(1.0F) + x[i]);
  } else if (detail::have_normal_exponentials<Arch>(x)) [[likely]] {
    // Registers follow one another: with 16 registers, interleaved ones would be kept in memory.
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) x[i] = detail::sigmoid_quotient<true>(x[i]);
  } else {
    for (int i = 0; i < Count; ++i) x[i] = detail::sigmoid_quotient<false>(x[i]);
  }
}

/// 1 / (1 + e^-x), Keras's sigmoid. Error: at most 2.41, 2.41, 2.45 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> sigmoid(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  sigmoid_each(result);
  return result[0];
}

namespace detail {

/// Replaces each x by (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, since (1 + tanh(u)) / 2 = sigmoid(2 u).
template <class Arch, int Count>
inline void gelu_tanh_gate_each(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i)
    x[i] = value(2 * 0.7978845608F) * x[i] * fused_multiply_add(value(0.044715F), x[i] * x[i], value(1.0F));
  sigmoid_each(x);
}

template <class Arch>
[[nodiscard]] inline batch<Arch> gelu_tanh_gate(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  gelu_tanh_gate_each<Arch>(result);
  return result[0];
}

}  // namespace detail

/// `tanh` of each register.
template <class Arch, int Count>
inline void tanh_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
    auto const locate = [](value(&size)[Count], integer_batch<Arch>(&piece)[Count]) {
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = bit_cast<std::uint32_t>(size[i] + value(1.0F));
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i)
        size[i] = size[i] - (bit_cast<float>(piece[i] & integer_batch<Arch>(0xFFF00000U)) - value(1.0F));
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = piece[i] >> 20;
    };
    detail::evaluate_odd_function<Arch>(detail::tanh_pieces, 9.9F, locate, x);
  } else {
    // e / (e + 2) with e = e^2|x| - 1, and |x| = n / 2 ln 2 + r.
    using integer = xsimd::batch<std::int32_t, Arch>;
    value const magic(detail::rounding_shift);
    value r[Count], shifted[Count], e[Count];
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) r[i] = at_most(xsimd::abs(x[i]), value(9.02F));
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) shifted[i] = fused_multiply_add(r[i], value(2 * 1.44269504F), magic);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i)
      r[i] = fused_negative_multiply_add(shifted[i] - magic, value(0.693147182F / 2), r[i]);
    detail::polynomial_each<Arch>(r, e, 1.9999999F, 1.3333237F, 0.66667897F, 0.2677207F, 0.08877245F);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) e[i] = fused_multiply_add(r[i] * r[i], e[i], r[i] + r[i]);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) {
      value const power = bit_cast<float>((bit_cast<std::int32_t>(shifted[i]) << 23) + integer(0x3F800000));
      e[i] = fused_multiply_add(power, e[i], power - value(1.0F));
      x[i] = (e[i] / (e[i] + value(2.0F))) | (x[i] & value(-0.0F));
    }
  }
}

/// The hyperbolic tangent. Error: at most 1.03, 2.6, 2.6 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> tanh(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  tanh_each(result);
  return result[0];
}

namespace detail {

/// erf without tables.
template <class Arch>
[[nodiscard]] inline batch<Arch> erf_with_exponential(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  value const size = at_most(xsimd::abs(x), value(3.93F));
  value const low = fused_multiply_add(size,
                                       polynomial(size * size, 0.12837917F, -0.3761263F, 0.11283624F, -0.02685556F,
                                                  0.005191753F, -0.0008039753F, 7.9431e-05F),
                                       size);
  // 1 - erf(x) = exp(-x * polynomial(x))
  value const exponent = -size * polynomial(size, 1.1286258F, 0.63524497F, 0.10607995F, -0.02362523F, 0.0035770275F,
                                            -0.0003065437F, 9.591366e-06F);
  value const high = value(1.0F) - kernels::exp(exponent);
  return copy_sign(xsimd::select(size < value(0.9F), low, high), x);
}

}  // namespace detail

/// `erf` of each register.
template <class Arch, int Count>
inline void erf_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  if constexpr (has_avx512<Arch>) {
    auto const locate = [](value(&size)[Count], integer_batch<Arch>(&piece)[Count]) {
      value const magic(0x1.8p20F);  // the last bit of the sum is worth 1/8
      value shifted[Count];
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) shifted[i] = size[i] + magic;
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) size[i] = size[i] - (shifted[i] - magic);
#pragma GCC unroll 4
      for (int i = 0; i < Count; ++i) piece[i] = bit_cast<std::uint32_t>(shifted[i]);
    };
    detail::evaluate_odd_function<Arch>(detail::erf_pieces, 3.93F, locate, x);
  } else {
    for (int i = 0; i < Count; ++i) x[i] = detail::erf_with_exponential<Arch>(x[i]);
  }
}

/// The error function. Error: at most 2.46, 1.13, 1.2 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> erf(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  erf_each(result);
  return result[0];
}

namespace detail {

/// Replaces each x by normal_distribution(|x|) - 1/2, given by its pieces. AVX2 only.
template <class Arch, int Count>
inline void normal_distribution_of_size_each(batch<Arch> (&x)[Count]) {
  using value = batch<Arch>;
  value const magic(rounding_shift);  // the factor is a little less than 1 / width, so that 0 is in the first piece
  value shifted[Count], sum[Count];
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = at_most(xsimd::abs(x[i]), value(5.49F)) - value(normal_piece_width / 2);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) shifted[i] = fused_multiply_add(x[i], value(1.4545454F), magic);
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i)
    x[i] = fused_negative_multiply_add(shifted[i] - magic, value(normal_piece_width), x[i]);
  constexpr int degree = static_cast<int>(std::size(normal_pieces)) - 1;
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) sum[i] = look_up(normal_pieces[degree], bit_cast<std::uint32_t>(shifted[i]));
#pragma GCC unroll 8
  for (int power = degree - 1; power >= 0; --power)
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i)
      sum[i] = fused_multiply_add(sum[i], x[i], look_up(normal_pieces[power], bit_cast<std::uint32_t>(shifted[i])));
#pragma GCC unroll 4
  for (int i = 0; i < Count; ++i) x[i] = sum[i];
}

}  // namespace detail

/// The normal distribution function, (1 + erf(x / sqrt 2)) / 2. Error: at most 1.2 times 2^-24.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> normal_distribution(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  if constexpr (has_avx2<Arch>) {
    value rest[1] = {x};
    detail::normal_distribution_of_size_each<Arch>(rest);
    return value(0.5F) + (rest[0] | (x & value(-0.0F)));
  } else {
    return fused_multiply_add(value(0.5F), kernels::erf(x * value(0.70710678F)), value(0.5F));
  }
}

/// `gelu` of each register.
template <class Arch, int Count>
inline void gelu_each(xsimd::batch<float, Arch> (&x)[Count]) {
  using value = batch<Arch>;
  value half[Count];
  if constexpr (has_avx2<Arch>) {
    value size[Count];
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) {
      half[i] = value(0.5F) * x[i];
      size[i] = xsimd::abs(x[i]);
    }
    detail::normal_distribution_of_size_each<Arch>(x);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) x[i] = fused_multiply_add(size[i], x[i], half[i]);
  } else {
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) {
      half[i] = value(0.5F) * x[i];
      x[i] = x[i] * value(0.70710678F);
    }
    erf_each(x);
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i) x[i] = fused_multiply_add(half[i], x[i], half[i]);
  }
}

/// x * normal_distribution(x), Keras's gelu. Error: at most 1.35, 1.46, 1.85 times 2^-24 |x|.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> gelu(xsimd::batch<float, Arch> const& x) {
  batch<Arch> result[1] = {x};
  gelu_each(result);
  return result[0];
}

/// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, Keras's gelu(approximate=True). Error: at most 2.7 times
/// 2^-24 |x|.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> gelu_tanh(xsimd::batch<float, Arch> const& x) {
  return x * detail::gelu_tanh_gate(x);
}

/// log(1 + e^x). Error: at most 1.54, 1.64, 1.7 ulp.
template <class Arch>
[[nodiscard]] inline xsimd::batch<float, Arch> softplus(xsimd::batch<float, Arch> const& x) {
  using value = batch<Arch>;
  return at_least(x, value(0.0F)) + detail::log1p_of_fraction<Arch>(kernels::exp(-xsimd::abs(x)));
}

}  // namespace stagecraft::kernels
