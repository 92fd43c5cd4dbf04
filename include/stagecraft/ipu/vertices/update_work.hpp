// SPDX-License-Identifier: BSD-3-Clause
// What a tile does in the update of a weight.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/vertices/formula_work.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Number of operands that have an element for each of the weight's.
constexpr int weight_operands(task const& task) {
  return task.input_count - static_cast<int>(task.what.as<update_task>().norms);
}
/// True if a norm is that of an operand as it is.
constexpr bool is_norm_of_operand(task const& task) {
  return task.formula->steps[task.formula->results[0]].from == operations::formula_source::place;
}

/// The vertices for `elements` elements of a tile, one after the other: popops' operations.
/// - the gradient of l2: scaled_add; of l1: sign, scaled_add. Penalties: absolute values, sums; sums of squares.
/// - norms: the formula, and sums of its squares.
/// - moving statistics: scaled_add (a m + b s); means: multiply; zeros: fill, as if all were to be filled.
class update_vertices {
 public:
  constexpr update_vertices(ipu_target const& target, dtype weight, dtype gradient, std::int64_t elements) noexcept
      : target_(target), weight_(weight), gradient_(gradient), elements_(elements) {}

  constexpr void penalty_gradient(bool l1, bool l2) noexcept {
    if (l2) scaled(vertices::scaled_operation::add, gradient_, weight_);
    if (!l1) return;
    unary(vertices::unary_operation::signum, weight_);
    scaled(vertices::scaled_operation::add, gradient_, weight_);
  }
  constexpr void penalty(bool l1, bool l2) noexcept {
    using enum vertices::reduce_operation;
    if (l1) {
      unary(vertices::unary_operation::absolute, weight_);
      work += reduced_elements(add, weight_, elements_, target_);
    }
    if (l2) work += reduced_elements(square_add, weight_, elements_, target_);
  }
  constexpr void norm(dtype type) noexcept {
    work += reduced_elements(vertices::reduce_operation::square_add, type, elements_, target_);
  }
  constexpr void move_statistic() noexcept { scaled(vertices::scaled_operation::ax_plus_by, weight_, gradient_); }
  constexpr void valid_mean() noexcept { scalar(vertices::binary_operation::multiply); }
  constexpr void clear_filling() noexcept {
    int const workers = target_.num_worker_contexts;
    work.cycles += workers * vertices::fill{weight_, ceil_div(elements_, workers)}.worker_cycles(target_);
  }

  vertex_work work;

 private:
  constexpr void scaled(vertices::scaled_operation operation, dtype type, dtype other) noexcept {
    work.add(vertices::scaled_add{operation, type, other, elements_}, target_);
  }
  constexpr void scalar(vertices::binary_operation operation) noexcept {
    work.add(vertices::broadcast_op{operation, weight_, elements_, true}, target_);
  }
  constexpr void unary(vertices::unary_operation operation, dtype type) noexcept {
    work.add(vertices::unary_op{operation, type, elements_, false}, target_);
  }

  ipu_target const& target_;
  dtype weight_, gradient_;
  std::int64_t elements_;
};

constexpr vertex_work update_work(lowered_step const& step, task const& task, std::int64_t elements,
                                  ipu_target const& target) {
  dtype types[task::most_inputs]{};
  for (int i = 0; i < task.input_count; ++i) types[i] = step.input_of(task, i).type;
  update_vertices vertices(target, types[0], task.input_count > 1 ? types[1] : types[0], elements);
  auto const& what = task.what.as<update_task>();
  bool const l1 = what.l1 != 0, l2 = what.l2 != 0;
  switch (what.function) {
    case update_function::penalty: vertices.penalty(l1, l2); break;
    case update_function::norm:
      if (is_norm_of_operand(task)) {
        vertices.norm(types[task.formula->steps[task.formula->results[0]].index]);
      } else {
        vertices.work += formula_vertices(*task.formula, types, elements, target, false).work;
        vertices.norm(dtype::float32);
      }
      break;
    case update_function::move_statistic: vertices.move_statistic(); break;
    case update_function::valid_mean: vertices.valid_mean(); break;
    case update_function::clear_filling: vertices.clear_filling(); break;
    default:
      vertices.penalty_gradient(l1, l2);
      vertices.work += formula_vertices(*task.formula, types, elements, target).work;
  }
  return vertices.work;
}

}  // namespace stagecraft::tiles
