// SPDX-License-Identifier: BSD-3-Clause
// What a tile does to compute a formula at each of its elements.
// Which of popops' operations carry out the functions that a `call` uses.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <stagecraft/operations/formula.hpp>
#include <stagecraft/operations/kinds/map.hpp>
#include <array>
#include <cstdint>

namespace stagecraft::tiles {

[[nodiscard]] constexpr vertices::unary_operation unary_of(operations::function f) noexcept {
  using operations::function;
  using enum vertices::unary_operation;
  switch (f) {
    case function::negative: return negate;
    case function::absolute: return absolute;
    case function::sign: return signum;
    case function::exp: return exponent;
    case function::round: return vertices::unary_operation::round;
    case function::log: return logarithm;
    case function::log1p: return logarithm_one_plus;
    case function::softplus: return logarithm_one_plus;  // after an exponent
    case function::sqrt: return vertices::unary_operation::sqrt;
    case function::rsqrt: return vertices::unary_operation::rsqrt;
    case function::sin: return vertices::unary_operation::sin;
    case function::cos: return vertices::unary_operation::cos;
    case function::tanh: return vertices::unary_operation::tanh;
    case function::sigmoid: return vertices::unary_operation::sigmoid;
    case function::erf: return vertices::unary_operation::erf;
    default: return vertices::unary_operation::floor;
  }
}
[[nodiscard]] constexpr vertices::binary_operation binary_of(operations::function f) noexcept {
  using operations::function;
  using enum vertices::binary_operation;
  switch (f) {
    case function::subtract: return subtract;
    case function::multiply: return multiply;
    case function::divide: return divide;
    case function::power: return power;
    case function::remainder: return remainder;
    case function::atan: return atan2;  // of x and 1
    case function::maximum: return maximum;
    case function::minimum: return minimum;
    case function::less:
    case function::less_equal: return greater_than;
    case function::equal: return vertices::binary_operation::equal;
    default: return vertices::binary_operation::add;
  }
}

/// The vertices of a formula, one after the other: popops' operations, each in the place of its first operand. What is
/// the same at all places is a vertex's scalar; to divide by a constant is to multiply by its reciprocal. A multiple
/// that is added is one scaled_add; so is a sum of two multiples (a x + b y), and sqrt or its reciprocal of a sum with
/// a number is one operation where popops has it.
class formula_vertices {
 public:
  /// `types`: of what is given at each place. A result of two types has the first one's, to which the other is cast.
  /// `writes_given`: whether a vertex may write to the place of what is given.
  constexpr formula_vertices(operations::formula_view const& formula, tracing::array_view<dtype const> types,
                             std::int64_t elements, ipu_target const& target, bool writes_given = true)
      : formula_(formula), target_(target), elements_(elements), writes_given_(writes_given) {
    find_uses();
    for (int i = 0; i < static_cast<int>(formula.steps.size()); ++i) {
      auto const& step = formula.steps[i];
      if (step.is_uniform) continue;
      if (step.from == operations::formula_source::place)
        types_[i] = types[step.index];
      else if (!is_part_[i])
        add(i, step);
    }
  }

  vertex_work work;

 private:
  using function = operations::function;
  [[nodiscard]] constexpr operations::formula_step const& step_of(int i) const { return formula_.steps[i]; }
  [[nodiscard]] constexpr bool is_uniform(int i) const { return step_of(i).is_uniform; }
  [[nodiscard]] constexpr bool is_zero(int i) const {
    return step_of(i).from == operations::formula_source::constant && step_of(i).value == 0;
  }
  /// True if a vertex may write to the place of a number.
  [[nodiscard]] constexpr bool writes(int i) const {
    return writes_given_ || step_of(i).from != operations::formula_source::place;
  }
  [[nodiscard]] constexpr bool is_function(int i, function apply) const {
    return step_of(i).from == operations::formula_source::function && step_of(i).apply == apply && !is_uniform(i);
  }
  static constexpr bool is_product_and_sum(function f) {
    return f == function::multiply_add || f == function::multiply_subtract || f == function::negative_multiply_add;
  }
  /// The factor of a product that is the same at all places, or -1.
  [[nodiscard]] constexpr int multiple(operations::formula_step const& product) const {
    return is_uniform(product.operands[0]) ? 0 : is_uniform(product.operands[1]) ? 1 : -1;
  }

  /// Steps that another one contains: the second multiple of a x + b y, and the sum within 1 / sqrt(x + number).
  constexpr void find_uses() {
    std::array<int, operations::formula_view::most_steps> uses{};
    for (auto const& step : formula_.steps)
      if (step.from == operations::formula_source::function)
        for (int k = 0; k < operations::arity(step.apply); ++k) ++uses[step.operands[k]];
    for (int const result : formula_.results) ++uses[result];
    for (auto const& step : formula_.steps) {
      if (step.is_uniform || step.from != operations::formula_source::function) continue;
      if (is_product_and_sum(step.apply) && multiple(step) >= 0) {
        int const other = step.operands[2];
        if (uses[other] == 1 && is_function(other, function::multiply) && multiple(step_of(other)) >= 0)
          is_part_[other] = true;
      }
      int const sum = step.operands[0];
      if (step.apply == function::rsqrt && uses[sum] == 1 && is_function(sum, function::add) &&
          (is_uniform(step_of(sum).operands[0]) || is_uniform(step_of(sum).operands[1])))
        is_part_[sum] = true;
    }
  }

  constexpr void add(int id, operations::formula_step const& step) {
    int const a = step.operands[0], b = step.operands[1], c = step.operands[2];
    dtype& type = types_[id];
    if (is_product_and_sum(step.apply)) {
      type = add_product_and_sum(step, a, b, c);
    } else if (operations::arity(step.apply) == 1) {
      bool const is_variance = step.apply == function::rsqrt && is_part_[a];
      int const from = !is_variance ? a : step_of(a).operands[is_uniform(step_of(a).operands[0]) ? 1 : 0];
      type = types_[from];
      if (is_variance)
        scalar(vertices::binary_operation::variance_to_inv_std_dev, type);
      else if (step.apply == function::atan)
        scalar(binary_of(step.apply), type, writes(from));
      else if (step.apply != function::identity)
        unary(unary_of(step.apply), type);
      if (step.apply == function::softplus) unary(vertices::unary_operation::exponent, type);
    } else if (step.apply == function::select) {
      // The price is that of a product with 1 or 0, and of a sum if neither side is 0: popops' Select has no estimate
      // of its own.
      int const chosen = is_zero(b) ? c : b;
      type = add_binary(vertices::binary_operation::multiply, a, chosen, writes(chosen));
      if (!is_zero(b) && !is_zero(c)) add_to(type, c);
    } else if (step.apply == function::multiply && a == b) {
      type = types_[a];
      unary(vertices::unary_operation::square, type);
    } else if (step.apply == function::divide && step_of(b).from == operations::formula_source::constant) {
      type = add_binary(vertices::binary_operation::multiply, a, b);
    } else {
      type = add_binary(binary_of(step.apply), a, b);
    }
  }
  constexpr dtype add_product_and_sum(operations::formula_step const& step, int a, int b, int c) {
    int const factor = multiple(step);
    if (factor < 0 || is_uniform(c)) {
      dtype const type = a == b ? types_[a] : add_binary(vertices::binary_operation::multiply, a, b);
      if (a == b) unary(vertices::unary_operation::square, type);
      add_to(type, c);
      return type;
    }
    int const scaled = factor == 0 ? b : a;
    int const base = !is_part_[c] ? c : step_of(c).operands[multiple(step_of(c)) == 0 ? 1 : 0];
    if (!writes(base)) work.cycles += ceil_div(elements_ * size_of(types_[base]), target_.memcpy_bytes_per_cycle);
    work.add(
        vertices::scaled_add{is_part_[c] ? vertices::scaled_operation::ax_plus_by : vertices::scaled_operation::add,
                             types_[base], types_[scaled], elements_},
        target_);
    return types_[base];
  }
  constexpr dtype add_binary(vertices::binary_operation operation, int a, int b, bool may_write = true) {
    if (is_uniform(a) || is_uniform(b)) {
      int const operand = is_uniform(a) ? b : a;
      scalar(operation, types_[operand], writes(operand));
      return types_[operand];
    }
    // If the types differ, the operand that was given is cast to the type that was computed.
    bool const casts_first = step_of(a).from == operations::formula_source::place;
    dtype const type = types_[casts_first ? b : a];
    cast(casts_first ? a : b, type);
    binary(operation, type, may_write && (writes(a) || writes(b)));
    return type;
  }
  /// Numbers of a type, and an operand.
  constexpr void add_to(dtype type, int operand) {
    if (is_uniform(operand)) return scalar(vertices::binary_operation::add, type);
    cast(operand, type);
    binary(vertices::binary_operation::add, type);
  }
  constexpr void cast(int operand, dtype to) {
    if (types_[operand] != to) work.add(vertices::cast{types_[operand], to, elements_}, target_);
  }
  constexpr void binary(vertices::binary_operation operation, dtype type, bool in_place = true) {
    work.add(vertices::binary_op{operation, type, elements_, in_place}, target_);
  }
  constexpr void scalar(vertices::binary_operation operation, dtype type, bool in_place = true) {
    work.add(vertices::broadcast_op{operation, type, elements_, in_place}, target_);
  }
  constexpr void unary(vertices::unary_operation operation, dtype type) {
    work.add(vertices::unary_op{operation, type, elements_, false}, target_);
  }

  operations::formula_view const& formula_;
  ipu_target const& target_;
  std::int64_t elements_;
  bool writes_given_;
  std::array<dtype, operations::formula_view::most_steps> types_{};
  std::array<bool, operations::formula_view::most_steps> is_part_{};
};

}  // namespace stagecraft::tiles
