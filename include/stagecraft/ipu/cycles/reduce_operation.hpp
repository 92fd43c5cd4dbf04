// SPDX-License-Identifier: BSD-3-Clause
// What the vertices of reductions do with two elements: popops' Operation.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/machines/ipu_target.hpp>

namespace stagecraft::vertices {

enum class reduce_operation : unsigned char { add, square_add, mul, max, min, logical_and, logical_or, log_add };

/// Floating point operations per element that is reduced. Source: poplibs, CycleEstimationFunctions.cpp.
[[nodiscard]] constexpr int flops_of(reduce_operation operation) noexcept {
  switch (operation) {
    case reduce_operation::square_add: return 2;
    case reduce_operation::logical_and:
    case reduce_operation::logical_or: return 0;
    case reduce_operation::log_add: return 6;
    default: return 1;
  }
}

}  // namespace stagecraft::vertices

namespace stagecraft::tiles {

[[nodiscard]] constexpr bool uses_accumulators(vertices::reduce_operation operation) noexcept {
  return operation == vertices::reduce_operation::add || operation == vertices::reduce_operation::square_add;
}
/// Elements that a reduction takes at once: as many as the accumulators hold, or as a load brings.
[[nodiscard]] constexpr int reduction_width(vertices::reduce_operation operation, dtype partials,
                                            ipu_target const& target) noexcept {
  if (uses_accumulators(operation)) return partials == dtype::float16 ? 8 : 4;
  return target.vector_width(partials);
}

}  // namespace stagecraft::tiles
