// SPDX-License-Identifier: BSD-3-Clause
// One result that is gathered over several steps before the host sees it: `accumulate_outfeed` of
// `pipelining_ops.pipeline`.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <cstdint>

namespace stagecraft::trainers {

/// Sums the shares of a mean in a type of the device; float16 is rounded, and overflows, at each addition.
template <dtype Type>
class accumulated_value {
 public:
  /// Adds one of `count` values whose mean is wanted.
  void add(double value, int count) {
    sum_ = rounded(sum_ + rounded(static_cast<float>(value) / static_cast<float>(count)));
  }
  /// The mean; begins again.
  [[nodiscard]] double take() {
    float const result = sum_;
    sum_ = 0;
    return static_cast<double>(result);
  }

 private:
  [[nodiscard]] static float rounded(float value) {
    if constexpr (Type == dtype::float16) {
      std::uint16_t half = 0;
      kernels::halves_of_floats(&value, &half, 1);
      kernels::floats_of_halves(&half, &value, 1);
    }
    return value;
  }

  float sum_ = 0;
};

}  // namespace stagecraft::trainers
