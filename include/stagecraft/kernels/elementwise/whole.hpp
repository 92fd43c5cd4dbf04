// SPDX-License-Identifier: BSD-3-Clause
// Functions of int32 over rows of memory that is declared as floats: the bits of an int32 lie where a float would.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/operations/kinds/whole_map.hpp>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

/// A float as int32: the fraction is cut off; numbers beyond int32 are its nearest number, and NaN is 0.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::int32_t whole_of_float(float x) noexcept {
  if (x >= 2147483648.0F) return 0x7fffffff;
  if (x < -2147483648.0F) return -0x7fffffff - 1;
  return x != x ? 0 : static_cast<std::int32_t>(x);
}

/// base to the power of an exponent that is not negative, modulo 2^32.
template <class Arch = default_architecture>
[[nodiscard]] constexpr std::uint32_t wrapped_power(std::uint32_t base, std::uint32_t exponent) noexcept {
  std::uint32_t result = 1;
  for (; exponent != 0; exponent >>= 1U, base *= base)
    if ((exponent & 1U) != 0) result *= base;
  return result;
}

/// A function of int32, as what lies in memory for its result. `a` is a float's bits for `from_float`.
template <class Arch = default_architecture>
[[nodiscard, gnu::always_inline]] constexpr inline float whole_value(operations::whole_function f, float in_a,
                                                                     float in_b) noexcept {
  using enum operations::whole_function;
  auto const a = std::bit_cast<std::int32_t>(in_a), b = std::bit_cast<std::int32_t>(in_b);
  auto const bits_a = static_cast<std::uint32_t>(a), bits_b = static_cast<std::uint32_t>(b);
  auto const whole = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  auto const truth = [](bool is) { return is ? 1.0F : 0.0F; };
  // The dividend and the divisor as int64, in which no quotient is too large.
  std::int64_t const dividend = a, divisor = b == 0 ? 1 : b;
  std::int64_t const quotient = dividend / divisor, rest = dividend % divisor;
  bool const rounds_down = rest != 0 && (rest < 0) != (divisor < 0);
  switch (f) {
    case constant:
    case bits_of_float:
    case float_of_bits: return in_a;
    case from_float: return whole(static_cast<std::uint32_t>(whole_of_float<Arch>(in_a)));
    case to_float: return static_cast<float>(a);
    case to_bool: return truth(a != 0);
    case to_uint8: return static_cast<float>(bits_a & 0xffU);
    case to_int8: return static_cast<float>(static_cast<std::int32_t>((bits_a + 128U) & 0xffU) - 128);
    case negative: return whole(0U - bits_a);
    case absolute: return whole(a < 0 ? 0U - bits_a : bits_a);
    case sign: return whole(a > 0 ? 1U : a < 0 ? ~0U : 0U);
    case bitwise_not: return whole(~bits_a);
    case add: return whole(bits_a + bits_b);
    case subtract: return whole(bits_a - bits_b);
    case multiply: return whole(bits_a * bits_b);
    case divide: return whole(b == 0 ? 0U : static_cast<std::uint32_t>(quotient));
    case remainder: return whole(b == 0 ? 0U : static_cast<std::uint32_t>(rest));
    case floor_divide: return whole(b == 0 ? 0U : static_cast<std::uint32_t>(quotient - (rounds_down ? 1 : 0)));
    case modulo: return whole(b == 0 ? 0U : static_cast<std::uint32_t>(rest + (rounds_down ? divisor : 0)));
    case power:
      if (b >= 0) return whole(wrapped_power<Arch>(bits_a, bits_b));
      return whole(a == 1 ? 1U : a == -1 ? ((bits_b & 1U) != 0 ? ~0U : 1U) : 0U);
    case maximum: return whole(a < b ? bits_b : bits_a);
    case minimum: return whole(b < a ? bits_b : bits_a);
    case bitwise_and: return whole(bits_a & bits_b);
    case bitwise_or: return whole(bits_a | bits_b);
    case bitwise_xor: return whole(bits_a ^ bits_b);
    case left_shift: return whole(bits_b < 32U ? bits_a << bits_b : 0U);
    case right_shift: return whole(static_cast<std::uint32_t>(a >> (bits_b < 32U ? bits_b : 31U)));
    case less: return truth(a < b);
    case less_equal: return truth(a <= b);
    case equal: return truth(a == b);
  }
  return 0;
}

namespace detail {

/// `whole_row` for a function that is known at compile time, in registers where floats lie side by side or are one.
template <operations::whole_function F, class Arch>
inline void whole_row_of(std::int64_t count, float* y, std::int64_t step_y, float const* a, std::int64_t step_a,
                         float const* b, std::int64_t step_b) noexcept {
  auto const run = [=](auto to, auto from_a, auto from_b) {
    for (std::int64_t i = 0; i < count; ++i) y[i * to] = whole_value<Arch>(F, a[i * from_a], b[i * from_b]);
  };
  std::integral_constant<std::int64_t, 1> constexpr beside;
  if (step_y != 1 || step_b > 1 || step_a > 1 || step_a < 0 || step_b < 0) return run(step_y, step_a, step_b);
  if (step_a == 1 && step_b == 1) return run(beside, beside, beside);
  float const one_a = *a, one_b = *b;
  if (step_a == 1)
    for (std::int64_t i = 0; i < count; ++i) y[i] = whole_value<Arch>(F, a[i], one_b);
  else
    for (std::int64_t i = 0; i < count; ++i) y[i] = whole_value<Arch>(F, one_a, step_b == 1 ? b[i] : one_b);
}

}  // namespace detail

/// y = f(a, b) for `count` places, which are `step` floats apart.
template <class Arch = default_architecture>
inline void whole_row(operations::whole_function f, std::int64_t count, float* y, std::int64_t step_y, float const* a,
                      std::int64_t step_a, float const* b, std::int64_t step_b) noexcept {
  using enum operations::whole_function;
  if (count == 0) return;
  // The functions that networks apply to many numbers: comparisons with a row of classes, conversions, sums.
  switch (f) {
    case from_float: return detail::whole_row_of<from_float, Arch>(count, y, step_y, a, step_a, b, step_b);
    case to_float: return detail::whole_row_of<to_float, Arch>(count, y, step_y, a, step_a, b, step_b);
    case add: return detail::whole_row_of<add, Arch>(count, y, step_y, a, step_a, b, step_b);
    case multiply: return detail::whole_row_of<multiply, Arch>(count, y, step_y, a, step_a, b, step_b);
    case less: return detail::whole_row_of<less, Arch>(count, y, step_y, a, step_a, b, step_b);
    case equal: return detail::whole_row_of<equal, Arch>(count, y, step_y, a, step_a, b, step_b);
    default:
      for (std::int64_t i = 0; i < count; ++i) y[i * step_y] = whole_value<Arch>(f, a[i * step_a], b[i * step_b]);
  }
}

}  // namespace stagecraft::kernels
