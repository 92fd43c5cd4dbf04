// SPDX-License-Identifier: BSD-3-Clause
// Numbers of parts into which a dimension can be cut. Only the largest part counts: of those that give the same, the
// smallest number is the one. Level 3.
#pragma once

#include <stagecraft/ipu/integers.hpp>
#include <cstdint>

namespace stagecraft::detail {

/// The next number of parts that makes the largest part of `size` smaller: at most `percent` of what it was.
[[nodiscard]] constexpr std::int64_t next_split(std::int64_t size, std::int64_t parts, int percent = 100) noexcept {
  std::int64_t const part = ceil_div(size, parts);
  if (part < 2) return INT32_MAX;
  return ceil_div(size, larger(1, smaller(part - 1, part * percent / 100)));
}
/// Another number of parts: that whose largest part is `steps` larger.
[[nodiscard]] constexpr std::int64_t other_split(std::int64_t size, std::int64_t parts, std::int64_t steps) noexcept {
  std::int64_t const part = ceil_div(size, parts);
  std::int64_t const other = part + steps * larger(1, part / 32);
  return ceil_div(size, smaller(size, larger(1, other)));
}
/// As few parts as make the largest part as small as `most` parts do.
[[nodiscard]] constexpr std::int64_t fewest_parts(std::int64_t size, std::int64_t most) noexcept {
  return most >= size ? size : ceil_div(size, ceil_div(size, most));
}

}  // namespace stagecraft::detail
