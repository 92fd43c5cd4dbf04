// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima along axes.
#pragma once

#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// The rule by which `reduce` turns many numbers into one.
enum class reduction : unsigned char { sum, max };

/// Reduces some axes, which stay with length 1.
struct reduce {
  reduction by = reduction::sum;
  unsigned axes = 0;  ///< bit i: axis i

  [[nodiscard]] constexpr bool has(int axis) const noexcept { return (axes >> axis & 1U) != 0; }
  [[nodiscard]] constexpr extents out(extents in) const {
    for (int i = 0; i < in.rank; ++i)
      if (has(i)) in[i] = 1;
    return in;
  }
  [[nodiscard]] static constexpr long long flops(extents const& in) noexcept { return in.size(); }
};

}  // namespace stagecraft::operations
