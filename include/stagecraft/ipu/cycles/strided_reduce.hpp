// SPDX-License-Identifier: BSD-3-Clause
// Cycles of reductions of one region with a stride: popops' Reduce, specialised as STRIDED_REDUCE.
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce_operation.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Reduces the rows of one matrix in memory to one row: output i is the reduction of elements i, i + stride,
/// i + 2 stride... A vertex of one worker, for add, max, min and log_add; other operations count as max.
///
/// Source: poplibs, lib/popops/reduction/CycleEstimationFunctions.cpp, getCyclesEstimateForStridedReduce.
struct strided_reduce {
  reduce_operation operation = reduce_operation::add;
  dtype partials = dtype::float32;  ///< float32 or float16
  dtype output = dtype::float32;    ///< float32 or float16
  std::int64_t outputs = 0;
  std::int64_t depth = 1;          ///< rows
  std::int64_t stride = 0;         ///< elements from row to row; 0: `outputs`
  std::int64_t outer_strides = 1;  ///< matrices that are reduced to the same row
  bool is_update = false;          ///< the result is added to what was there

  /// Cycles of the worker.
  [[nodiscard]] constexpr std::int64_t worker_cycles(ipu_target const& target) const noexcept {
    if (outputs == 0) return 16;
    bool const is_log_add = operation == reduce_operation::log_add;
    std::int64_t const per_operation = !is_log_add ? 1 : partials == dtype::float16 ? 13 : 23;
    std::int64_t const per_loop =
        detail::greatest_common_divisor(detail::smaller(detail::reduction_width(operation, partials, target),
                                                        target.data_path_width / (8 * size_of(partials))),
                                        stride == 0 ? outputs : stride);
    return 16 + detail::ceil_div(outputs, per_loop) *
                    (3 + store_cycles() + outer_strides * (3 + per_operation * (depth - 1)));
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept {
    return outputs * (depth * outer_strides + (is_update ? 1 : 0) - 1) * flops_of(operation);
  }

 private:
  [[nodiscard]] constexpr std::int64_t store_cycles() const noexcept {
    bool const is_add = operation == reduce_operation::add;
    bool const is_log_add = operation == reduce_operation::log_add;
    bool const stores_half = output == dtype::float16;
    if (partials == dtype::float16) {
      if (!is_update) return 1 + (is_add && !stores_half ? 6 : 7);
      if (is_log_add) return 1 + (stores_half ? 22 : 56);
      return 1 + (!is_add ? 10 : stores_half ? 9 : 11);
    }
    std::int64_t const end = is_add ? 3 : 2;
    if (!is_update) return end + 2;
    if (is_log_add) return end + (stores_half ? 13 : 27);
    return end + (stores_half ? 4 : 5);
  }
};

}  // namespace stagecraft::vertices
