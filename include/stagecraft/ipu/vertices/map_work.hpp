// SPDX-License-Identifier: BSD-3-Clause
// What the vertices of an elementwise task cost on one tile. Activations and their gradients are popnn's vertices where
// there are any, else popops' maps.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/non_linearity.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// A tile's way to read an operand of an elementwise task (map_operand).
struct map_read {
  dtype type = dtype::float32;
  std::int64_t inner = 1;
  std::int64_t count = 0;
  std::int64_t piece = 0;  ///< elements of the result on tile 0
  bool is_local = false;   ///< lies where the result lies

  /// Elements that a tile with `elements` of the result receives: no fewer than it reads, wherever its range begins.
  [[nodiscard]] constexpr std::int64_t received(std::int64_t elements) const noexcept {
    if (is_local || elements == 0) return 0;
    return count == 0 ? elements : smaller(count, runs(elements));
  }
  [[nodiscard]] constexpr std::int64_t received_bytes(std::int64_t elements) const noexcept {
    return received(elements) * size_of(type);
  }

 private:
  /// Runs of `inner` elements that read the same, or parts of such, in a range of `elements`.
  [[nodiscard]] constexpr std::int64_t runs(std::int64_t elements) const noexcept {
    if (piece % inner == 0) return ceil_div(elements, inner);
    if (inner % piece == 0 || elements == 1) return 1;
    return (elements - 2) / inner + 2;
  }
};

[[nodiscard]] constexpr map_read read_of(lowered_step const& step, task const& task, int input,
                                         ipu_target const& target) {
  auto const& result = step.output_of(task);
  auto const& operand = step.input_of(task, input);
  tile_mapping const mapping{result, target};
  auto const& [inner, count] = task.what.as<map_task>().reads[input];
  bool const is_local = count == 0 && lie_alike(operand, result, target);
  return {operand.type, inner, count, mapping.elements_per_tile, is_local};
}

/// Sums up the cycles of the operations that an elementwise task consists of, for `elements` elements on a tile.
/// popops would make one vertex of them, too, but not a faster one per operation.
struct map_work {
  ipu_target const& target;
  dtype type = dtype::float32;
  std::int64_t elements = 0;
  std::int64_t cycles = 0;
  std::int64_t flops = 0;

  // This stands before its uses since Clang would else instantiate it too late for constants.
  template <class Vertex>
  constexpr void add(Vertex const& vertex) noexcept {
    cycles += vertex.cycles(target);
    flops += vertex.flops();
  }
  constexpr void unary(vertices::unary_operation operation, bool in_place = true) noexcept {
    add(vertices::unary_op{operation, type, elements, in_place});
  }
  constexpr void binary(vertices::binary_operation operation, bool in_place = true) noexcept {
    add(vertices::binary_op{operation, type, elements, in_place});
  }
  /// An operation of each element with one number.
  constexpr void scalar(vertices::binary_operation operation, bool in_place = true) noexcept {
    add(vertices::broadcast_op{operation, type, elements, in_place});
  }
  /// An operation of each element with an operand that is read in some way. An operand that fits no vertex for
  /// broadcasts, or does worse with it, is written out first, element by element of the result.
  constexpr void binary(vertices::binary_operation operation, map_read const& operand, bool in_place) noexcept {
    convert(operand);
    if (operand.count == 0) return binary(operation, in_place);
    std::int64_t const values = operand.received(elements);
    if (values == 1) return scalar(operation, in_place);
    std::int64_t best = copy_cycles(type) + vertices::binary_op{operation, type, elements, in_place}.cycles(target);
    bool const is_arithmetic = operation == vertices::binary_operation::add ||
                               operation == vertices::binary_operation::subtract ||
                               operation == vertices::binary_operation::multiply;
    if (operand.inner > 1)
      best = smaller(best,
                     vertices::broadcast_op{operation, type, smaller(operand.inner, elements), in_place}.cycles_of_rows(
                         target, values));
    else if (is_arithmetic && values == operand.count && values <= 65535)
      best = smaller(
          best, vertices::broadcast_vector_inner{operation, type, values, ceil_div(elements, values), in_place}.cycles(
                    target));
    cycles += best;
    flops += elements * flops_of(operation);
  }

  constexpr void non_linearity(vertices::non_linearity_type kind, bool in_place) noexcept {
    add(vertices::non_linearity{kind, type, elements, in_place});
  }
  constexpr void non_linearity_gradient(vertices::non_linearity_type kind) noexcept {
    vertices::non_linearity const vertex{kind, type, elements};
    cycles += vertex.gradient_cycles(target);
    flops += vertex.gradient_flops();
  }
  constexpr void scaled_add(vertices::scaled_operation operation, dtype other) noexcept {
    add(vertices::scaled_add{operation, type, other, elements});
  }
  constexpr void fill() noexcept {
    int const workers = target.num_worker_contexts;
    cycles += workers * vertices::fill{type, ceil_div(elements, workers)}.worker_cycles(target);
  }
  /// Copies within the tile's memory, from another type as a cast.
  constexpr void copy(dtype from) noexcept {
    if (from == type)
      cycles += copy_cycles(type);
    else
      add(vertices::cast{from, type, elements});
  }
  /// An operand of another type becomes one of the result's.
  constexpr void convert(map_read const& operand) noexcept {
    if (operand.type != type)
      add(vertices::cast{operand.type, type, operand.count == 0 ? elements : operand.received(elements)});
  }
  /// Writes an operand out, element by element.
  constexpr void expand(map_read const& operand) noexcept {
    convert(operand);
    if (operand.count != 0) cycles += copy_cycles(type);
  }
  /// 64 bits of random numbers, 32 or 16 for each of `count` elements, in a worker's cycle, and another one to apply
  /// them. An assumption: no estimate for poprand's vertices is published.
  constexpr void random(std::int64_t count) noexcept {
    int const workers = target.num_worker_contexts;
    cycles += 2 * workers * ceil_div(ceil_div(count, workers), target.vector_width(type));
  }

 private:
  [[nodiscard]] constexpr std::int64_t copy_cycles(dtype of) const noexcept {
    return ceil_div(elements * size_of(of), target.memcpy_bytes_per_cycle);
  }
};

/// True if a relu is that of popnn.
[[nodiscard]] constexpr bool is_plain_relu(activation const& function) noexcept {
  return function.alpha == 0 && function.max_value < 0 && function.threshold == 0;
}

constexpr void add_relu(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  if (is_plain_relu(function)) return work.non_linearity(vertices::non_linearity_type::relu, in_place);
  if (function.threshold == 0) {
    work.scalar(maximum, in_place);
  } else {  // x times whether it is greater
    work.scalar(greater_than, false);
    work.binary(multiply);
  }
  if (function.max_value >= 0) work.scalar(minimum);
  if (function.alpha == 0) return;
  // alpha times min(x - threshold, 0)
  if (function.threshold != 0) work.scalar(subtract, false);
  work.scalar(minimum, function.threshold != 0);
  work.scaled_add(vertices::scaled_operation::add, work.type);
}

constexpr void add_activation(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  using unary = vertices::unary_operation;
  using known = vertices::non_linearity_type;
  switch (function.kind) {
    case activation_kind::relu: return add_relu(work, function, in_place);
    case activation_kind::sigmoid: return work.non_linearity(known::sigmoid, in_place);
    case activation_kind::tanh: return work.non_linearity(known::tanh, in_place);
    case activation_kind::gelu: return work.non_linearity(known::gelu_erf, in_place);
    case activation_kind::gelu_tanh: return work.non_linearity(known::gelu, in_place);
    case activation_kind::swish: return work.non_linearity(known::swish, in_place);
    case activation_kind::selu:  // a multiple of elu
    case activation_kind::elu:   // max(x, 0) + alpha (exp(min(x, 0)) - 1)
      work.scalar(minimum, false);
      work.unary(unary::exponent_minus_one);
      work.scalar(maximum, in_place);
      work.scaled_add(vertices::scaled_operation::add, work.type);
      if (function.kind == activation_kind::selu) work.scalar(multiply);
      return;
    case activation_kind::exponential: return work.unary(unary::exponent, in_place);
    case activation_kind::softplus:  // max(x, 0) + log(1 + exp(-|x|))
      work.unary(unary::absolute, false);
      work.unary(unary::negate);
      work.unary(unary::exponent);
      work.unary(unary::logarithm_one_plus);
      work.scalar(maximum, in_place);
      return work.binary(add);
    case activation_kind::softsign:  // x / (1 + |x|)
      work.unary(unary::absolute, false);
      work.scalar(add);
      return work.binary(divide, in_place);
    case activation_kind::hard_sigmoid:  // min(max(x / 5 + 1/2, 0), 1)
      work.scalar(multiply, in_place);
      work.scalar(add);
      work.scalar(maximum);
      return work.scalar(minimum);
    default: return work.copy(work.type);
  }
}

constexpr void add_activation_gradient(map_work& work, activation const& function, bool in_place) noexcept {
  using enum vertices::binary_operation;
  using unary = vertices::unary_operation;
  using known = vertices::non_linearity_type;
  switch (function.kind) {
    case activation_kind::relu:
      if (is_plain_relu(function)) return work.non_linearity_gradient(known::relu);
      work.scalar(greater_than, false);
      if (function.max_value >= 0) {  // and not above the limit
        work.scalar(greater_than, false);
        work.binary(multiply);
      }
      if (function.alpha != 0) {  // 1 or alpha in place of 1 or 0
        if (function.max_value >= 0 || function.threshold != 0) work.scalar(greater_than, false);
        work.scalar(multiply);
        work.scalar(add);
      }
      return work.binary(multiply, in_place);
    case activation_kind::sigmoid: return work.non_linearity_gradient(known::sigmoid);
    case activation_kind::tanh: return work.non_linearity_gradient(known::tanh);
    case activation_kind::gelu: return work.non_linearity_gradient(known::gelu_erf);
    case activation_kind::gelu_tanh: return work.non_linearity_gradient(known::gelu);
    case activation_kind::swish: return work.non_linearity_gradient(known::swish);
    case activation_kind::selu:
    case activation_kind::elu:  // scale where y > 0, else y + alpha, which follows from x by an exponential
      if (function.gradient_needs_input()) {
        work.unary(unary::exponent, false);
        work.scalar(multiply);
      } else {
        work.scalar(add, false);
      }
      work.scalar(greater_than, false);
      work.binary(subtract);  // the difference of both, chosen by a product
      work.binary(multiply);
      work.binary(add);
      return work.binary(multiply, in_place);
    case activation_kind::exponential: return work.binary(multiply, in_place);
    case activation_kind::softplus:  // -dy (exp(-y) - 1)
      work.unary(unary::negate, false);
      work.unary(unary::exponent_minus_one);
      work.unary(unary::negate);
      return work.binary(multiply, in_place);
    case activation_kind::softsign:  // dy (1 - |y|)^2
      work.unary(unary::absolute, false);
      work.scalar(subtract);
      work.unary(unary::square);
      return work.binary(multiply, in_place);
    case activation_kind::hard_sigmoid:  // dy / 5 where |x| <= 5/2
      work.unary(unary::absolute, false);
      work.scalar(greater_than);
      work.scalar(multiply);
      return work.binary(multiply, in_place);
    default: return work.copy(work.type);
  }
}

}  // namespace stagecraft::tiles
