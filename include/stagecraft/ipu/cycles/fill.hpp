// SPDX-License-Identifier: BSD-3-Clause
// Cycles of filling memory with a value (popops' Fill), and of setting a convolution's partial sums to zero.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Writes a value `elements` times. A vertex of one worker, whose cycles are the mean over alignments.
///
/// Source: poplibs, lib/popops/PerformanceEstimation.cpp, getFill1DCycleEstimate.
struct fill {
  dtype type = dtype::float32;
  std::int64_t elements = 0;

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    if (size_of(type) == 1) return elements < 64 ? 28 + elements / 4 : 39 + elements / 8;
    std::int64_t const width = target.vector_width(type);
    if (type != dtype::float16) return 23 + elements / width + (elements % width == 1 ? 1 : 0);
    if (elements == 1) return 15;
    return elements == 2 ? 21 : 26 + elements / width;
  }
};

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
