// SPDX-License-Identifier: BSD-3-Clause
// Integer divisions that round up, of which cost models are made. Level 3.
#pragma once

#include <cstdint>

namespace stagecraft::detail {

/// The quotient, rounded up; for numbers that are not negative.
constexpr std::int64_t ceil_div(std::int64_t dividend, std::int64_t divisor) noexcept {
  return (dividend + divisor - 1) / divisor;
}

/// The least k with 2^k >= number; 0 for 0 and 1.
constexpr int ceil_log2(std::int64_t number) noexcept {
  int result = 0;
  while ((std::int64_t{1} << result) < number) ++result;
  return result;
}

}  // namespace stagecraft::detail
