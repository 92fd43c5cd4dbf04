// SPDX-License-Identifier: BSD-3-Clause
// Cycles of conversions between element types: popops' Cast1D.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Converts `elements` elements, which all workers of a tile share. Between float32 and float16 four elements at once;
/// other pairs of types one by one, which the source calls a guess.
///
/// Source: poplibs, lib/popops/PerformanceEstimation.cpp, getCast1DCycleEstimate and castWorkerCycles, but for
/// its special ways between float16 and integers of 8 bits.
struct cast {
  dtype from = dtype::float32;
  dtype to = dtype::float16;
  std::int64_t elements = 0;

  /// A worker's cycles for `count` elements, the call excluded.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target, std::int64_t count) const noexcept {
    std::int64_t const loaded = target.data_path_width / (8 * size_of(from));
    std::int64_t const stored = target.data_path_width / (8 * size_of(to));
    bool const is_floating = is_float(from) && is_float(to);
    // Two loads and one store at once limit how much is converted at once; but only one load is in a cycle.
    std::int64_t const width = is_floating ? detail::smaller(2 * loaded, stored) : 1;
    std::int64_t const per_vector =
        detail::larger(width / detail::smaller(width, loaded), width / detail::smaller(width, stored)) +
        (is_floating ? 0 : 1);
    std::int64_t cycles = 19 + per_vector * (count / width);
    for (std::int64_t part = 1; part < width; part *= 2) cycles += (count % width & part) != 0 ? 3 : 1;
    return cycles;
  }

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    return 12 + workers * (18 + worker_cycles(target, detail::ceil_div(elements, workers)));
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return is_float(from) || is_float(to) ? elements : 0; }

 private:
  [[nodiscard]] static constexpr bool is_float(dtype type) noexcept {
    return type == dtype::float32 || type == dtype::float16;
  }
};

}  // namespace stagecraft::vertices
