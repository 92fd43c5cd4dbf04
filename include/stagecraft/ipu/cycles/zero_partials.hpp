// SPDX-License-Identifier: BSD-3-Clause
// Cycles of setting a convolution's partial sums to zero.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Sets groups of partial sums to zero, each group by all workers together, within the vertices that add to them.
/// Source: poplibs, lib/poplin/PerformanceEstimation.hpp, getZeroSupervisorVertexCycleEstimate.
struct zero_partials {
  dtype type = dtype::float32;          ///< float32 or float16
  std::int64_t elements_per_group = 0;  ///< field elements x output channels of a group
  std::int64_t groups = 1;              ///< convolution groups x groups of output channels

  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    std::int64_t const vectors =
        detail::ceil_div(detail::ceil_div(elements_per_group, workers), target.vector_width(type));
    return workers * groups * (vectors + 14 - 9);  // float16: 15 - 10
  }
};

}  // namespace stagecraft::vertices
