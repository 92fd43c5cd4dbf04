// SPDX-License-Identifier: BSD-3-Clause
// Where a tensor of a pipeline lies in its device's memory.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::plan {

/// A ring of places, one for each micro-batch that is alive at once. Offsets are floats from the device's block.
struct buffer_place {
  long long offset = -1;
  int depth = 1;
  long long stride = 0;

  [[nodiscard]] constexpr bool exists() const noexcept { return offset >= 0; }
  /// Floats of all places.
  [[nodiscard]] constexpr long long floats() const noexcept { return exists() ? depth * stride : 0; }
  /// The place of a micro-batch.
  [[nodiscard]] constexpr long long at(long long micro_batch) const noexcept {
    return depth == 1 ? offset : offset + micro_batch % depth * stride;
  }
};

/// Puts rings one behind the other.
class ring_allocator {
 public:
  constexpr buffer_place place(int depth, long long floats) {
    long long const stride = (floats + 15) / 16 * 16;
    buffer_place const result{floats_, depth, stride};
    floats_ += depth * stride;
    return result;
  }
  [[nodiscard]] constexpr long long floats() const { return floats_; }

 private:
  long long floats_ = 0;
};

}  // namespace stagecraft::plan
