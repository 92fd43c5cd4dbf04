// SPDX-License-Identifier: BSD-3-Clause
// The results of a loop over an axis.
#pragma once

#include <stagecraft/operations/tensor.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::operations {

/// What a scan gives: each state after all trips, along the axis that it ran over, and after the last one.
template <std::size_t States>
struct scanned {
  std::array<tensor, States> all{};
  std::array<tensor, States> last{};
};

}  // namespace stagecraft::operations
