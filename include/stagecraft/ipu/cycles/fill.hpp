// SPDX-License-Identifier: BSD-3-Clause
// Cycles of filling memory with a value: popops' Fill.
#pragma once

#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Writes a value `elements` times. A vertex of one worker; the mean over alignments.
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

}  // namespace stagecraft::vertices
