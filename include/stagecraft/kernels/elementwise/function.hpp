// SPDX-License-Identifier: BSD-3-Clause
// Functions of one, two or three numbers, on batches of them, and loads of the last elements of a row for them.
#pragma once

#include <stagecraft/kernels/simd/math.hpp>
#include <stagecraft/kernels/simd/math_fast.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

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

namespace detail {

/// A function of the C library, lane by lane.
template <class Arch, class F>
[[nodiscard]] inline batch<Arch> each_lane(batch<Arch> const& a, batch<Arch> const& b, F const& f) {
  alignas(64) float x[lanes<Arch>], y[lanes<Arch>];
  a.store_aligned(x);
  b.store_aligned(y);
  for (int lane = 0; lane < lanes<Arch>; ++lane) x[lane] = f(x[lane], y[lane]);
  return batch<Arch>::load_aligned(x);
}
/// 1 where the condition holds, else 0.
template <class Arch>
[[nodiscard]] inline batch<Arch> indicator(batch_mask<Arch> const& condition) {
  return xsimd::select(condition, batch<Arch>(1.0F), batch<Arch>(0.0F));
}

}  // namespace detail

/// f(a, b, c) in each lane; operands that f does not have are not read.
template <operations::function F, class Arch>
[[nodiscard]] inline batch<Arch> function_value(batch<Arch> const& a, [[maybe_unused]] batch<Arch> const& b,
                                                [[maybe_unused]] batch<Arch> const& c) {
  using enum operations::function;
  using value = batch<Arch>;
  if constexpr (F == identity)
    return a;
  else if constexpr (F == negative)
    return -a;
  else if constexpr (F == absolute)
    return xsimd::abs(a);
  else if constexpr (F == sign)
    return xsimd::select(a == a, detail::indicator<Arch>(a > value(0.0F)) - detail::indicator<Arch>(a < value(0.0F)),
                         a);
  else if constexpr (F == floor)
    return xsimd::floor(a);
  else if constexpr (F == round)
    return xsimd::nearbyint(a);
  else if constexpr (F == exp)
    return kernels::exp<Arch>(a);
  else if constexpr (F == log)
    return kernels::log<Arch>(a);
  else if constexpr (F == log1p)
    return kernels::log1p<Arch>(a);
  else if constexpr (F == softplus)
    return kernels::softplus<Arch>(a);
  else if constexpr (F == sqrt)
    return xsimd::sqrt(a);
  else if constexpr (F == rsqrt)
    return value(1.0F) / xsimd::sqrt(a);
  else if constexpr (F == sin)
    return xsimd::sin(a);  // error: at most 2.2 ulp, at any size of a
  else if constexpr (F == cos)
    return xsimd::cos(a);  // error: at most 2.2 ulp, at any size of a
  else if constexpr (F == atan)
    return xsimd::atan(a);  // error: at most 2 ulp
  else if constexpr (F == tanh)
    return kernels::tanh<Arch>(a);
  else if constexpr (F == sigmoid)
    return kernels::sigmoid<Arch>(a);
  else if constexpr (F == erf)
    return kernels::erf<Arch>(a);
  else if constexpr (F == add)
    return a + b;
  else if constexpr (F == subtract)
    return a - b;
  else if constexpr (F == multiply)
    return a * b;
  else if constexpr (F == divide)
    return a / b;
  else if constexpr (F == power)
    return detail::each_lane<Arch>(a, b, [](float x, float y) { return std::pow(x, y); });
  else if constexpr (F == remainder)
    return detail::each_lane<Arch>(a, b, [](float x, float y) { return std::fmod(x, y); });
  else if constexpr (F == maximum)
    return xsimd::select(xsimd::isnan(b), b, at_least(a, b));
  else if constexpr (F == minimum)
    return xsimd::select(xsimd::isnan(b), b, at_most(a, b));
  else if constexpr (F == less)
    return detail::indicator<Arch>(a < b);
  else if constexpr (F == less_equal)
    return detail::indicator<Arch>(a <= b);
  else if constexpr (F == equal)
    return detail::indicator<Arch>(a == b);
  else if constexpr (F == select)
    return xsimd::select(a == value(0.0F), c, b);  // NaN is not 0, as in NumPy
  else if constexpr (F == multiply_add)
    return fused_multiply_add(a, b, c);
  else if constexpr (F == multiply_subtract)
    return fused_multiply_add(a, b, -c);
  else
    return fused_negative_multiply_add(a, b, c);
}

/// `function_value` with the fast forms of elementary functions.
template <operations::function F, class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> fast_function_value(batch<Arch> const& a, batch<Arch> const& b,
                                                                         batch<Arch> const& c) {
  using enum operations::function;
  if constexpr (F == exp)
    return fast_exp<Arch>(a);
  else if constexpr (F == tanh)
    return fast_tanh<Arch>(a);
  else if constexpr (F == sigmoid)
    return fast_sigmoid<Arch>(a);
  else
    return function_value<F, Arch>(a, b, c);
}

/// f(a, b, c) in double, for all functions.
[[nodiscard, gnu::always_inline]] inline double function_value(operations::function f, double a, double b, double c) {
  using enum operations::function;
  switch (f) {
    case identity: return a;
    case negative: return -a;
    case absolute: return std::fabs(a);
    case sign: return a > 0 ? 1 : a < 0 ? -1 : a * 0;
    case floor: return std::floor(a);
    case round: return std::nearbyint(a);
    case exp: return std::exp(a);
    case log: return std::log(a);
    case log1p: return std::log1p(a);
    case softplus: return (a < 0 ? 0 : a) + std::log1p(std::exp(-std::fabs(a)));
    case sqrt: return std::sqrt(a);
    case rsqrt: return 1 / std::sqrt(a);
    case sin: return std::sin(a);
    case cos: return std::cos(a);
    case atan: return std::atan(a);
    case tanh: return std::tanh(a);
    case sigmoid: return 1 / (1 + std::exp(-a));
    case erf: return std::erf(a);
    case add: return a + b;
    case subtract: return a - b;
    case multiply: return a * b;
    case divide: return a / b;
    case power: return std::pow(a, b);
    case remainder: return std::fmod(a, b);
    case maximum: return a < b || b != b ? b : a;
    case minimum: return b < a || b != b ? b : a;
    case less: return a < b ? 1 : 0;
    case less_equal: return a <= b ? 1 : 0;
    case equal: return a == b ? 1 : 0;
    case select: return a != 0 ? b : c;
    case multiply_add: return a * b + c;
    case multiply_subtract: return a * b - c;
    case negative_multiply_add: return c - a * b;
  }
  return 0;
}

/// each(f) with the function as a constant: a std::integral_constant.
template <class Each>
inline void with_function(operations::function apply, Each const& each) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    static_cast<void>(((static_cast<std::size_t>(apply) == I &&
                        (each(std::integral_constant<operations::function, operations::function{I}>{}), true)) ||
                       ...));
  }(std::make_index_sequence<operations::function_count>{});
}

}  // namespace stagecraft::kernels
