// SPDX-License-Identifier: BSD-3-Clause
// Cycles of elementwise operations on one operand (popops' UnaryOp1D and UnaryOp2D) or on two of the same shape
// (BinaryOp1D and BinaryOp2D), and of a turn of their loops (OpPerformanceInfo).
#pragma once

#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::vertices {

/// Cycles of the innermost loop of an elementwise operation. Where they depend on the data, they are the mean over
/// random data.
struct elementwise_cost {
  /// A value of `elements`: as many as 64 bits hold, and each turn of the loop costs some overhead.
  static constexpr int vector = 0;
  /// A value of `elements`: one element, and each turn of the loop costs some overhead.
  static constexpr int single = -1;

  int cycles = 0;    ///< cycles of one turn of the loop
  int elements = 1;  ///< elements that a turn works on, or `vector`, or `single`

  friend constexpr bool operator==(elementwise_cost const&, elementwise_cost const&) = default;

  /// Cycles for `count` elements, where a turn over a vector costs `overhead` more.
  [[nodiscard]] constexpr std::int64_t loop_cycles(std::int64_t count, int vector_width, int overhead) const noexcept {
    if (elements > 0) return detail::ceil_div(count, elements) * cycles;
    return detail::ceil_div(count, elements == vector ? vector_width : 1) * (cycles + overhead);
  }
  /// Cycles for `count` elements as the source counts them for operations on one operand, and on a vector: a part of a
  /// vector costs a part of its cycles, and only the result is rounded.
  [[nodiscard]] constexpr std::int64_t smooth_loop_cycles(std::int64_t count, int vector_width,
                                                          int overhead) const noexcept {
    if (elements > 0) return detail::ceil_div(count, elements) * cycles;
    int const width = elements == vector ? vector_width : 1;
    return (cycles + overhead) * (count + width - 1) / width;
  }
};

}  // namespace stagecraft::vertices

namespace stagecraft::tiles {

/// The supervisor's cycles around elementwise operations. Source: poplibs, basicOpSupervisorOverhead.
inline constexpr int elementwise_supervisor_cycles = 11;

}  // namespace stagecraft::tiles

namespace stagecraft::vertices {

/// popops::expr::UnaryOpType, as far as it computes with floating point numbers.
enum class unary_operation : unsigned char {
  absolute,
  asin,
  cbrt,
  ceil,
  cos,
  erf,
  exponent,
  exponent2,
  exponent_minus_one,
  floor,
  gelu_erf,
  inverse,
  is_finite,
  logarithm,
  logarithm_one_plus,
  negate,
  relu,
  round,
  rsqrt,
  sigmoid,
  signum,
  sin,
  sqrt,
  square,
  tan,
  tanh,
  trunc
};

/// An operation on one tensor, float32 or float16.
/// Source: poplibs, lib/popops/popopsCycleEstimators.hpp, unaryOpPerfInfo and unaryOpInPlacePerfInfo.
[[nodiscard]] constexpr elementwise_cost cost_of(unary_operation operation, dtype type, bool in_place) noexcept {
  bool const is_half = type == dtype::float16;
  int const per_64_bits = is_half ? 4 : 2;
  int const saved = in_place ? 2 : 0;
  constexpr int vector = elementwise_cost::vector;
  constexpr int single = elementwise_cost::single;
  switch (operation) {
    case unary_operation::absolute: return {1, in_place ? vector : single};
    case unary_operation::asin: return {102, single};
    case unary_operation::cbrt: return {is_half ? 17 : 27, vector};
    case unary_operation::cos:
    case unary_operation::sin: return is_half ? elementwise_cost{25, 1} : elementwise_cost{2300, single};
    case unary_operation::erf: return {is_half ? 13 : 41, 1};
    case unary_operation::exponent:
    case unary_operation::exponent2: return {is_half ? 4 : 6, per_64_bits};
    case unary_operation::exponent_minus_one:
      return is_half ? elementwise_cost{5, vector} : elementwise_cost{4, single};
    case unary_operation::gelu_erf: return {is_half ? 16 : 22, 1};
    case unary_operation::inverse: return {is_half ? 15 : 6, per_64_bits};
    case unary_operation::logarithm: return {(is_half ? 4 : 12) + saved, per_64_bits};  // 2 more in place
    case unary_operation::logarithm_one_plus: return {is_half && in_place ? 17 : 18, vector};
    case unary_operation::negate: return {in_place ? 3 : 2, per_64_bits};
    case unary_operation::relu: return {in_place ? 2 : 3, per_64_bits};
    case unary_operation::rsqrt: return {is_half ? 19 : 8, per_64_bits};
    case unary_operation::sigmoid: return {(is_half ? 6 : 12) - saved, per_64_bits};
    case unary_operation::is_finite:
    case unary_operation::signum: return {5, vector};
    case unary_operation::sqrt: return {is_half ? 23 : 10, per_64_bits};
    case unary_operation::square: return {2, per_64_bits};
    case unary_operation::tan: return {is_half ? 5700 : 5100, 1};
    case unary_operation::tanh: return {(is_half ? 4 : 12) - saved, per_64_bits};
    case unary_operation::trunc: return is_half ? elementwise_cost{11, 4} : elementwise_cost{in_place ? 4 : 3, 2};
    default: return {2, vector};  // ceil, floor, round
  }
}

/// An elementwise operation on a tensor, which all workers of a tile share.
///
/// Source: poplibs, lib/popops/popopsCycleEstimators.cpp, UnaryOp1D, UnaryOp1DInPlace and unaryOpInnerLoopCycles.
struct unary_op {
  unary_operation operation = unary_operation::relu;
  dtype type = dtype::float32;  ///< float32 or float16
  std::int64_t elements = 0;
  bool in_place = false;

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    int const overhead = in_place ? 55 : operation == unary_operation::exponent ? 33 : 17;
    return workers * (overhead + loop_cycles(target, detail::ceil_div(elements, workers))) + 9 +
           detail::elementwise_supervisor_cycles;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return elements; }

 private:
  [[nodiscard]] constexpr std::int64_t loop_cycles(ipu_target const& target, std::int64_t count) const noexcept {
    return cost_of(operation, type, in_place).smooth_loop_cycles(count, target.vector_width(type), 4);
  }
};

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
  dtype type = dtype::float32;  ///< type of the operands: float32 or float16
  std::int64_t elements = 0;
  bool in_place = false;

  /// Tile cycles of the vertex.
  [[nodiscard]] constexpr std::int64_t cycles(ipu_target const& target) const noexcept {
    int const workers = target.num_worker_contexts;
    int const overhead = in_place ? 58 : type == dtype::float16 ? 26 : 29;
    return workers * (overhead + loop_cycles(target, detail::ceil_div(elements, workers))) +
           detail::elementwise_supervisor_cycles;
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return elements * flops_of(operation); }

 private:
  [[nodiscard]] constexpr std::int64_t loop_cycles(ipu_target const& target, std::int64_t count) const noexcept {
    return cost_of(operation, type, in_place).loop_cycles(count, target.vector_width(type), 2);
  }
};

}  // namespace stagecraft::vertices
