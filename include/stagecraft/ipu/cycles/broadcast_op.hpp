// SPDX-License-Identifier: BSD-3-Clause
// Cycles of elementwise operations on a tensor and a scalar, or a vector for each row: popops' BroadcastScalar1D and
// BroadcastVectorOuter.
#pragma once

#include <stagecraft/ipu/cycles/binary_op.hpp>
#include <stagecraft/ipu/cycles/elementwise_cost.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// An operation on a tensor and a scalar, float32 or float16.
/// Source: poplibs, lib/popops/popopsCycleEstimators.hpp, broadcastOpPerfInfo and broadcastOpInPlacePerfInfo.
[[nodiscard]] constexpr elementwise_cost cost_of_broadcast(binary_operation operation, dtype type,
                                                           bool in_place) noexcept {
  bool const is_half = type == dtype::float16;
  switch (operation) {
    case binary_operation::divide: return {is_half ? 8 : 6, 2};
    case binary_operation::maximum:
    case binary_operation::minimum: return {3, is_half ? 4 : 2};
    case binary_operation::remainder: return is_half ? elementwise_cost{225, 4} : elementwise_cost{93, 2};
    case binary_operation::equal:
    case binary_operation::greater_than: return {is_half ? 8 : 12, 4};
    case binary_operation::not_equal: return {is_half ? 10 : 18, 4};
    case binary_operation::inv_std_dev_to_variance:
      if (in_place && !is_half) return {7, elementwise_cost::vector};
      return {is_half ? 10 : 11, 2};
    default: return cost_of(operation, type, in_place);
  }
}

/// An elementwise operation on a tensor and a scalar, or on a matrix and a vector with an element for each of its rows.
/// All workers of a tile share it. Add, subtract and multiply cost 1 cycle per vector for loads, stores and the loop,
/// other operations on vectors 4.
///
/// Source: poplibs, lib/popops/popopsCycleEstimators.cpp, broadcastArithmetic1DCycleEstimate and
/// BroadcastVectorOuterCycleEstimate (where workers share out rows, with rows of whole vectors).
struct broadcast_op {
  binary_operation operation = binary_operation::multiply;
  dtype type = dtype::float32;  ///< float32 or float16
  std::int64_t elements = 0;    ///< of the tensor, or of each row of the matrix
  bool in_place = false;

  /// Tile cycles of the vertex for a scalar.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    auto const loops =
        cost().loop_cycles(detail::ceil_div(elements, workers), target.vector_width(type), has_assembler() ? 1 : 4);
    return workers * (20 + loops) + detail::elementwise_supervisor_cycles;
  }
  /// Tile cycles of the vertex for a vector with an element for each of `rows` rows of `elements` elements.
  [[nodiscard]] constexpr std::int64_t cycles_of_rows(ipu_target const& target, std::int64_t rows) const noexcept {
    int const workers = target.num_worker_contexts;
    auto const cost = cost_of_broadcast(operation, type, false);
    std::int64_t const of_row =
        7 + (cost.elements == elementwise_cost::vector ? cost.smooth_loop_cycles(elements, target.vector_width(type), 1)
                                                       : (cost.cycles + 1) * elements);
    return workers * (15 + detail::ceil_div(rows, workers) * of_row) + detail::elementwise_supervisor_cycles;
  }
  /// For a scalar; for the rows of a matrix times their number.
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return elements * flops_of(operation); }

 private:
  [[nodiscard]] constexpr elementwise_cost cost() const noexcept {
    return cost_of_broadcast(operation, type, in_place);
  }
  [[nodiscard]] constexpr bool has_assembler() const noexcept {
    return operation == binary_operation::add || operation == binary_operation::subtract ||
           operation == binary_operation::multiply;
  }
};

}  // namespace stagecraft::vertices
