// SPDX-License-Identifier: BSD-3-Clause
// One number in half precision, converted without a processor's help: IEEE binary16.
#pragma once

#include <bit>
#include <cstdint>

namespace stagecraft::half_number {

/// The value of a half.
[[nodiscard]] constexpr float value(std::uint16_t half) noexcept {
  std::uint32_t const sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  std::uint32_t const exponent = (half >> 10) & 0x1FU, mantissa = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  float const small = static_cast<float>(mantissa) * 0x1p-24F;  // exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(small));
}

/// The half that is nearest to a number, the even one of two; infinity from 65520 on.
[[nodiscard]] constexpr std::uint16_t nearest(float number) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(number);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  std::uint32_t const magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x3FFU));
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) {  // a denormal half: a multiple of 2^-24
    float const scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    auto whole = static_cast<std::uint32_t>(scaled);
    float const rest = scaled - static_cast<float>(whole);
    if (rest > 0.5F || (rest == 0.5F && (whole & 1U) != 0)) ++whole;
    return static_cast<std::uint16_t>(sign | whole);
  }
  std::uint32_t const rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

/// One of the two halves beside a number, each with the probability that makes the mean right, if `uniform` is drawn
/// from [0, 1); infinity where the larger one is 65536.
[[nodiscard]] constexpr std::uint16_t at_random(float number, float uniform) noexcept {
  auto const bits = std::bit_cast<std::uint32_t>(number);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  std::uint32_t const magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x7F800000U) return nearest(number);
  if (magnitude < 0x38800000U) {  // a denormal half: a multiple of 2^-24
    float const scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
    auto const whole = static_cast<std::uint32_t>(scaled);
    bool const up = uniform < scaled - static_cast<float>(whole);
    return static_cast<std::uint16_t>(sign | (whole + (up ? 1U : 0U)));
  }
  std::uint32_t const rounded = magnitude + static_cast<std::uint32_t>(uniform * 8192.0F);
  if (rounded >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

[[nodiscard]] constexpr bool is_infinite(std::uint16_t half) noexcept { return (half & 0x7FFFU) == 0x7C00U; }

/// What an IPU stores in place of infinity, with its sign: NaN, or the largest number.
[[nodiscard]] constexpr std::uint16_t without_infinity(std::uint16_t half, bool nan_on_overflow) noexcept {
  if (!is_infinite(half)) return half;
  return static_cast<std::uint16_t>((half & 0x8000U) | (nan_on_overflow ? 0x7E00U : 0x7BFFU));
}

}  // namespace stagecraft::half_number
