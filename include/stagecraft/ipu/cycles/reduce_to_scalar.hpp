// SPDX-License-Identifier: BSD-3-Clause
// Cycles of reductions of runs of memory to one number each: popops' Reduce, specialised as SCALAR_OUTPUT_SINGLE_INPUT
// and ALL_REGIONS_CONTINUOUS.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce_operation.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Reduces each of `outputs` runs of `elements` elements, which lie behind each other, to one number. A vertex of one
/// worker.
///
/// Source: poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp, getCyclesEstimateForSingleInput for one output,
/// getCycleEstimateReduceAllRegionsContinuous for several.
struct reduce_to_scalar {
  reduce_operation operation = reduce_operation::add;
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t outputs = 1;
  std::int64_t elements = 0;
  bool is_update = false;  ///< the result is added to what was there

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    int const loaded = target.data_path_width / (8 * size_of(partials));
    int const width = detail::reduction_width(operation, partials, target);
    std::int64_t const per_operation = operation == reduce_operation::log_add ? 20 : 1;
    if (outputs != 1) {
      std::int64_t const vectors =
          elements / (operation == reduce_operation::log_add ? 1 : detail::smaller(width, loaded));
      return 7 + 10 + (is_update ? 1 : 0) + (elements % 2 != 0 ? 2 : 0) + outputs * (12 + per_operation * vectors);
    }
    std::int64_t const per_loop = detail::larger(width / detail::smaller(width, loaded), per_operation);
    return 3 + 6 + per_loop * elements / width + 5 + elements % width + 3 + (output == dtype::float16 ? 5 : 0);
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return outputs * (elements + (is_update ? 1 : 0) - 1) * flops_of(operation);
  }
};

}  // namespace stagecraft::vertices
