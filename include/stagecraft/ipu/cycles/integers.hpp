// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on whole numbers for cost models.
#pragma once

#include <cstdint>

namespace stagecraft::tiles {

/// The quotient, rounded up. Both numbers must not be negative.
constexpr std::int64_t ceil_div(std::int64_t dividend, std::int64_t divisor) noexcept {
  return (dividend + divisor - 1) / divisor;
}

/// The least k with 2^k >= number; 0 for 0 and 1.
constexpr int ceil_log2(std::int64_t number) noexcept {
  int result = 0;
  while ((std::int64_t{1} << result) < number) ++result;
  return result;
}

/// The greatest number that divides both. At least one must not be 0.
constexpr std::int64_t greatest_common_divisor(std::int64_t a, std::int64_t b) noexcept {
  while (b != 0) {
    auto const rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
constexpr std::int64_t larger(std::int64_t a, std::int64_t b) noexcept { return a < b ? b : a; }

}  // namespace stagecraft::tiles
