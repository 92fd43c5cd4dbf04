// SPDX-License-Identifier: BSD-3-Clause
// Numbers in half precision (IEEE binary16), converted without a processor's help, and how an emulated IPU's thread
// rounds what its tiles store in half precision.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <bit>
#include <cstdint>
#include <utility>

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

/// The number that an IPU stores in place of infinity, with its sign: NaN, or the largest number.
[[nodiscard]] constexpr std::uint16_t without_infinity(std::uint16_t half, bool nan_on_overflow) noexcept {
  if (!is_infinite(half)) return half;
  return static_cast<std::uint16_t>((half & 0x8000U) | (nan_on_overflow ? 0x7E00U : 0x7BFFU));
}

}  // namespace stagecraft::half_number

namespace stagecraft::tiles {

/// IPUConfig's `floating_point_behaviour.nanoo` and `esr`, and which random numbers are drawn.
struct half_rounding_rules {
  bool nan_on_overflow = false;  ///< else the largest number
  bool at_random = false;        ///< else to the nearest, the even one of two
  kernels::random_key key{0, 0};
};

struct half_rounding_state {
  half_rounding_rules rules = {};
  std::uint64_t drawn = 0;
  bool overflowed = false;
};

/// While it lives, the halves that this thread stores in tiles' memories follow its rules; in the order in which they
/// are stored, each takes a random number. Without any, they are rounded to the nearest, and not above the largest.
class half_rounding {
 public:
  explicit half_rounding(half_rounding_rules const& rules) noexcept
      : before_(std::exchange(current_, half_rounding_state{.rules = rules})) {}
  half_rounding(half_rounding const&) = delete;
  half_rounding& operator=(half_rounding const&) = delete;
  ~half_rounding() { current_ = before_; }

  /// True if a number was too large since then.
  [[nodiscard]] bool overflowed() const noexcept { return current_.overflowed; }

  /// The half that stands for a number.
  [[nodiscard]] static std::uint16_t half_of(float number) noexcept {
    auto& now = current_;
    auto const half = now.rules.at_random
                          ? half_number::at_random(number, kernels::random_uniform(now.rules.key, now.drawn++))
                          : half_number::nearest(number);
    if (!half_number::is_infinite(half)) return half;
    now.overflowed = true;
    return half_number::without_infinity(half, now.rules.nan_on_overflow);
  }

 private:
  static inline thread_local half_rounding_state current_;
  half_rounding_state before_;
};

}  // namespace stagecraft::tiles
