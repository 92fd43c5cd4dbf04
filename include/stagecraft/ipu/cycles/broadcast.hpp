// SPDX-License-Identifier: BSD-3-Clause
// Cycles of elementwise operations that broadcast one operand: a scalar (popops' BroadcastScalar1D), an element for
// each row of a matrix (BroadcastVectorOuter), or a vector for all rows (BroadcastVectorInner1D: biases and channel
// scales).
#pragma once

#include <stagecraft/ipu/cycles/elementwise.hpp>
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
  std::int64_t elements = 0;    ///< elements of the tensor, or of each row of the matrix
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
  /// Floating point operations for a scalar, or for one row of a matrix.
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

/// Adds (or subtracts, or multiplies) a vector of `length` elements to each of `rows` rows. The workers of a tile share
/// the rows; each goes over its rows for a few elements of the vector after the other.
///
/// Source: poplibs, lib/popops/popopsCycleEstimators.cpp, BroadcastVectorInner1D, vectorInnerMultiVertex*Cycles and
/// vectorInner*CoreCycles_*.
struct broadcast_vector_inner {
  binary_operation operation = binary_operation::add;  ///< add, subtract or multiply
  dtype type = dtype::float32;                         ///< float32 or float16
  std::int64_t length = 0;                             ///< at most 65535
  std::int64_t rows = 0;
  bool in_place = false;

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    bool const is_half = type == dtype::float16;
    std::int64_t worker = is_half ? 19 + (length % 2 != 0 ? 4 + 3 : 0) : 17;
    std::int64_t supervisor = 13;
    if (multiplies()) {
      worker += (is_half ? 24 : 17) + (in_place ? 3 : 2);
      supervisor += in_place ? 6 : 0;
    } else {
      bool const is_plain_add = operation == binary_operation::add && in_place;
      worker += is_plain_add ? 2 : 3;
      supervisor += is_plain_add ? 0 : 6;
    }
    return supervisor + workers * (worker + core_cycles(target, detail::ceil_div(rows, workers)));
  }

  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return length * rows; }

 private:
  [[nodiscard]] constexpr bool multiplies() const noexcept { return operation == binary_operation::multiply; }

  /// A worker's cycles for its rows.
  [[nodiscard]] constexpr std::int64_t core_cycles(ipu_target const& target, std::int64_t own_rows) const noexcept {
    if (own_rows == 0) return type == dtype::float16 && !multiplies() ? 1 : 2;
    if (type != dtype::float16) return 7 + length * (3 + 2 * own_rows + 5);
    return multiplies() ? half_multiply_cycles(target.vector_width(type), own_rows)
                        : half_add_cycles(target.vector_width(type), own_rows);
  }
  /// Cycles of the loop element by element, which serves where vectors are not aligned.
  [[nodiscard]] constexpr std::int64_t half_scalar_cycles(std::int64_t own_rows, int overhead) const noexcept {
    return overhead + length * (5 + 9 * own_rows) + 1;
  }
  [[nodiscard]] constexpr std::int64_t half_add_cycles(int width, std::int64_t own_rows) const noexcept {
    if (length > 2048) return 3 + half_scalar_cycles(own_rows, 5);
    if (length % 8 == 0) {
      std::int64_t const pairs = detail::ceil_div(length, 2 * width);  // of vectors, through the accumulators
      if (own_rows == 1) return 5 + 2 + 3 + 7 * pairs + 1;
      return 5 + 2 + 4 + pairs * (8 + 2 * (own_rows - 1) + 7) + 1;
    }
    if (own_rows < 2) return 7 + half_scalar_cycles(own_rows, 5);
    if (length % 4 != 0) return 9 + half_scalar_cycles(own_rows, 5);
    return 9 + 5 + detail::ceil_div(length, width) * (7 + 2 * (own_rows / 2 - 1) + 1 + own_rows % 2 + 5) + 1;
  }
  [[nodiscard]] constexpr std::int64_t half_multiply_cycles(int width, std::int64_t own_rows) const noexcept {
    if (length % 4 != 0) return 3 + half_scalar_cycles(own_rows, 4);
    std::int64_t const vectors = detail::ceil_div(length, width);
    // Loads and stores overlap only if the result goes elsewhere, and for more than one row.
    if (in_place || length > 2044 || own_rows < 2) {
      int const decisions = in_place ? 5 : length > 2044 ? 7 : 9;
      return decisions + 3 + vectors * (4 + 2 * own_rows + 3) + 1;
    }
    return 9 + 3 + vectors * (6 + own_rows + 3) + 1;
  }
};

}  // namespace stagecraft::vertices
