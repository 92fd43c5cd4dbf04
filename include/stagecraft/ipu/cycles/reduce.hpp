// SPDX-License-Identifier: BSD-3-Clause
// Cycles of reductions with several regions of inputs: popops' Reduce. Level 3.
#pragma once

#include <stagecraft/ipu/cycles/reduce_operation.hpp>
#include <stagecraft/ipu/integers.hpp>
#include <stagecraft/ipu/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Makes `reductions` results of `outputs` elements each; each is the reduction of `regions` pieces of memory, which
/// hold `rows` times as many elements as the result. A vertex of one worker.
///
/// Source: poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp, getCyclesEstimateForReduce.
struct reduce {
  reduce_operation operation = reduce_operation::add;
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t reductions = 1;
  std::int64_t outputs = 0;
  std::int64_t regions = 0;
  std::int64_t rows = 1;
  bool is_update = false;  ///< the result is added to what was there

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    switch (operation) {
      case reduce_operation::logical_and:
      case reduce_operation::logical_or:
      case reduce_operation::log_add: return scalar_cycles();
      default: return 7 + 26 + reductions * of_reduction(target);
    }
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return reductions * (regions * rows + (is_update ? 1 : 0) - 1) * outputs * flops_of(operation);
  }

 private:
  [[nodiscard]] constexpr std::int64_t of_reduction(ipu_target const& target) const noexcept {
    bool const accumulates = detail::uses_accumulators(operation);
    int const width = detail::reduction_width(operation, partials, target);
    int const loaded = target.data_path_width / (8 * size_of(partials));
    int const checks = detail::ceil_log2(width);
    std::int64_t const vectors = outputs / width;
    auto const store = [&](std::int64_t elements) -> std::int64_t {
      return (is_update ? 3 : 2) * detail::smaller(elements, target.vector_width(output)) + (accumulates ? 1 : 0);
    };
    std::int64_t const per_load = (accumulates ? 4 : 2) + width / detail::smaller(width, loaded);
    std::int64_t cycles = 16 + 6 + 2 * checks + 2;
    cycles += vectors * ((accumulates ? 5 : 3) + store(width) + 1);
    cycles += vectors * regions * 10;
    cycles += regions * rows * vectors * (per_load + 3);
    for (std::int64_t part = 1; part < width; part *= 2) {
      if ((outputs % width & part) == 0) continue;
      cycles += (accumulates ? 4 : 2) + store(part) + regions * 10;
      cycles += regions * rows * (2 + part / detail::smaller(part, loaded) + 3);
    }
    return cycles;
  }
  /// Operations that no assembler was written for go element by element.
  [[nodiscard]] constexpr std::int64_t scalar_cycles() const noexcept {
    std::int64_t const per_element =
        24 + (operation == reduce_operation::log_add ? 12 : 1) + (output == partials ? 0 : 1);
    return 7 + 24 + reductions * (8 + regions * (22 + per_element * rows * outputs));
  }
};

}  // namespace stagecraft::vertices
