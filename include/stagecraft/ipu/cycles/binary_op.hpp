// SPDX-License-Identifier: BSD-3-Clause
// Cycles of elementwise operations on two operands: popops' BinaryOp1D and BinaryOp2D.
#pragma once

#include <stagecraft/ipu/cycles/elementwise_cost.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// popops::expr::BinaryOpType. All comparisons that order cost the same: `greater_than` stands for them. The last two
/// take a tensor and a scalar: 1 / sqrt(variance + epsilon), and back.
enum class binary_operation : unsigned char {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  power,
  atan2,
  remainder,
  equal,
  not_equal,
  greater_than,
  variance_to_inv_std_dev,
  inv_std_dev_to_variance
};

/// Floating point operations per element.
[[nodiscard]] constexpr int flops_of(binary_operation operation) noexcept {
  switch (operation) {
    case binary_operation::remainder: return 3;
    case binary_operation::variance_to_inv_std_dev:
    case binary_operation::inv_std_dev_to_variance: return 2;
    default: return 1;
  }
}

/// An operation on two tensors of the same shape, float32 or float16.
/// Source: poplibs, lib/popops/popopsCycleEstimators.hpp, binaryOpPerfInfo and binaryOpInPlacePerfInfo.
[[nodiscard]] constexpr elementwise_cost cost_of(binary_operation operation, dtype type, bool in_place) noexcept {
  bool const is_half = type == dtype::float16;
  switch (operation) {
    case binary_operation::divide: return is_half ? elementwise_cost{21, 4} : elementwise_cost{10, 2};
    case binary_operation::maximum:
    case binary_operation::minimum: return is_half ? elementwise_cost{4, 4} : elementwise_cost{in_place ? 4 : 3, 2};
    case binary_operation::power: return {is_half ? 325 : 312, 1};
    case binary_operation::atan2: return is_half ? elementwise_cost{578, 4} : elementwise_cost{272, 2};
    case binary_operation::remainder: return is_half ? elementwise_cost{300, 4} : elementwise_cost{133, 2};
    case binary_operation::equal:
    case binary_operation::greater_than: return {is_half ? 9 : 14, 4};
    case binary_operation::not_equal: return {is_half ? 11 : 20, 4};
    case binary_operation::variance_to_inv_std_dev: return is_half ? elementwise_cost{24, 4} : elementwise_cost{12, 2};
    case binary_operation::inv_std_dev_to_variance: return {is_half ? 10 : 11, 2};
    default: return {1, elementwise_cost::vector};
  }
}

/// An elementwise operation on two tensors of the same shape, which all workers of a tile share; with `in_place` the
/// result takes the place of the first. Operations on vectors (add, subtract, multiply) cost 2 cycles per vector for
/// loads, stores and the loop.
///
/// Source: poplibs, lib/popops/popopsCycleEstimators.cpp, BinaryOp1D, BinaryOp1DInPlace and binaryOpInnerLoopCycles.
struct binary_op {
  binary_operation operation = binary_operation::add;
  dtype type = dtype::float32;  ///< of the operands: float32 or float16
  std::int64_t elements = 0;
  bool in_place = false;

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    int const overhead = in_place ? 58 : type == dtype::float16 ? 26 : 29;
    return workers * (overhead + loop_cycles(target, detail::ceil_div(elements, workers))) +
           detail::elementwise_supervisor_cycles;
  }
  /// Cycles of one worker that alone works on `rows` separate pieces of `elements` elements: BinaryOp2D.
  [[nodiscard]] constexpr std::int64_t worker_cycles_2d(ipu_target const& target, std::int64_t rows) const noexcept {
    return (in_place ? 20 : 5) + rows * loop_cycles(target, elements);
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return elements * flops_of(operation); }

 private:
  [[nodiscard]] constexpr std::int64_t loop_cycles(ipu_target const& target, std::int64_t count) const noexcept {
    return cost_of(operation, type, in_place).loop_cycles(count, target.vector_width(type), 2);
  }
};

}  // namespace stagecraft::vertices
