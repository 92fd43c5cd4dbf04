// SPDX-License-Identifier: BSD-3-Clause
// The losses of the library as operations on rows know them, and what they cost.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/binary_op.hpp>
#include <stagecraft/ipu/cycles/broadcast_op.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/loss_transform.hpp>
#include <stagecraft/ipu/cycles/non_linearity.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/ipu/cycles/unary_op.hpp>
#include <stagecraft/ipu/steps/tile_operation.hpp>
#include <stagecraft/ipu/vertices/formula_work.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <stagecraft/losses/loss_formula.hpp>
#include <stagecraft/losses/loss_plan.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/operations/flops.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// A loss's definition. An operation has it in its row_operation, `formula` and `row_plan`.
struct loss_rule {
  loss_kind kind = loss_kind::mean_squared_error;
  bool from_logits = false;
  float option = 0;  ///< label_smoothing, or huber's delta
  operations::formula_view const* formula = nullptr;
  operations::plan_view const* plan = nullptr;

  [[nodiscard]] static constexpr loss_rule of(tile_operation const& operation) noexcept {
    auto const& what = operation.what.as<row_operation>();
    return {what.loss, what.from_logits != 0, static_cast<float>(what.option), operation.formula, operation.row_plan};
  }
  [[nodiscard]] constexpr bool is_categorical() const noexcept {
    return kind == loss_kind::sparse_categorical_crossentropy || kind == loss_kind::categorical_crossentropy;
  }
  /// Whether probabilities have to be computed from the predictions first.
  [[nodiscard]] constexpr bool needs_softmax() const noexcept { return is_categorical() && from_logits; }
};

/// That of a loss of the library, or of one that is written as a `call`.
template <auto Loss, int Columns>
constexpr loss_rule rule_of_loss(bool with_gradient) {
  using loss_type = std::remove_cv_t<decltype(Loss)>;
  loss_rule rule;
  if constexpr (requires { Loss.from_logits; }) rule.from_logits = Loss.from_logits;
  if constexpr (requires { Loss.label_smoothing; }) rule.option = Loss.label_smoothing;
  if constexpr (HasPlainLossCall<loss_type>)
    rule.formula = with_gradient ? &view_of_loss<Loss, true> : &view_of_loss<Loss, false>;
  else
    rule.plan = &plan_of_loss<Loss, Columns>::value;
  if constexpr (std::same_as<loss_type, losses::sparse_categorical_crossentropy>) {
    rule.kind = loss_kind::sparse_categorical_crossentropy;
  } else if constexpr (std::same_as<loss_type, losses::categorical_crossentropy>) {
    rule.kind = loss_kind::categorical_crossentropy;
  } else if constexpr (std::same_as<loss_type, losses::binary_crossentropy>) {
    rule.kind = loss_kind::binary_crossentropy;
  } else if constexpr (std::same_as<loss_type, losses::mean_absolute_error>) {
    rule.kind = loss_kind::mean_absolute_error;
  } else if constexpr (std::same_as<loss_type, losses::huber>) {
    rule.kind = loss_kind::huber;
    rule.option = Loss.delta;
  } else if constexpr (!std::same_as<loss_type, losses::mean_squared_error>) {
    rule.kind = HasPlainLossCall<loss_type> ? loss_kind::elementwise : loss_kind::traced;
  }
  return rule;
}

/// popnn has a vertex for cross entropy behind softmax and one for squared differences, which give losses and
/// gradients: loss_transform. What else the definitions ask for is put together from popops' operations:
/// - probabilities: two for clipping them; categorical: sums, their inverses and products with these;
/// - class numbers: a matrix of ones and zeros is filled;
/// - smoothed targets: a product and a sum;
/// - binary: cross entropy for both answers, whose probabilities and targets are differences from 1, and the sum;
///   logits: sigmoid;
/// - mean absolute error: difference, absolute value, sign;
/// - huber: difference, absolute value, the smaller of it and delta: m (|e| - m / 2); two for clipping the gradient;
/// - of the user's own, at each place: the operations of its formula;
/// - of whole rows: scalar code of a worker for each row, with two loads and the operation, 3 instructions, for each
///   operation of its plan;
/// - then sums over rows, times the rows' scales, as is the gradient, and over the tile.
constexpr vertex_work loss_work(loss_rule const& rule, dtype type, std::int64_t rows, std::int64_t columns,
                                bool with_gradient, ipu_target const& target) {
  using vertices::binary_operation, vertices::unary_operation;
  int const workers = target.num_worker_contexts;
  auto const elements = rows * columns;
  vertex_work work;
  auto const scalar = [&](binary_operation operation, int times = 1) {
    for (int i = 0; i < times; ++i) work.add(vertices::broadcast_op{operation, type, elements, true}, target);
  };
  auto const binary = [&](binary_operation operation) {
    work.add(vertices::binary_op{operation, type, elements, true}, target);
  };
  auto const unary = [&](unary_operation operation) {
    work.add(vertices::unary_op{operation, type, elements, true}, target);
  };
  auto const times_number_of_row = [&] {
    work += combined_rows(binary_operation::multiply, type, rows, columns, target);
  };
  // Workers share out the rows or, where that is faster, the elements of one row after the other.
  auto const transform = [&](bool is_cross_entropy) {
    vertices::loss_transform const of_row{is_cross_entropy, type, columns};
    vertices::loss_transform const of_worker{is_cross_entropy, type, ceil_div(columns, workers)};
    work += {workers * smaller(ceil_div(rows, workers) * of_row.worker_cycles(), rows * of_worker.worker_cycles()),
             rows * of_row.flops()};
  };
  auto const clip = [&] {
    scalar(binary_operation::maximum);
    scalar(binary_operation::minimum);
  };
  if ((rule.kind == loss_kind::categorical_crossentropy || rule.kind == loss_kind::binary_crossentropy) &&
      rule.option != 0) {
    scalar(binary_operation::multiply);
    scalar(binary_operation::add);
  }
  if (rule.kind == loss_kind::traced) {
    // Its scale is part of the plan.
    auto const flops = operations::flops(*rule.plan, rule.plan->forward) +
                       (with_gradient ? operations::flops(*rule.plan, rule.plan->backward) : 0);
    work += {workers * ceil_div(rows, workers) * 3 * flops, rows * flops};
    work += reduced_elements(vertices::reduce_operation::add, dtype::float32, rows, target);
    return work;
  }
  switch (rule.kind) {
    case loss_kind::traced: break;
    case loss_kind::elementwise: {
      dtype const types[]{dtype::float32, type};
      work += formula_vertices(*rule.formula, types, elements, target).work;
      break;
    }
    case loss_kind::sparse_categorical_crossentropy:
    case loss_kind::categorical_crossentropy:
      if (!rule.from_logits) {
        clip();
        work += reduced_rows(vertices::reduce_operation::add, type, dtype::float32, rows, columns, target);
        work.add(vertices::unary_op{unary_operation::inverse, dtype::float32, rows, true}, target);
        times_number_of_row();
      }
      if (rule.kind == loss_kind::sparse_categorical_crossentropy)
        work.cycles += workers * vertices::fill{type, ceil_div(elements, workers)}.worker_cycles(target);
      transform(true);
      break;
    case loss_kind::binary_crossentropy:
      if (rule.from_logits)
        work.add(vertices::non_linearity{vertices::non_linearity_type::sigmoid, type, elements, true}, target);
      else
        clip();
      scalar(binary_operation::subtract, 2);
      transform(true);
      transform(true);
      if (with_gradient) binary(binary_operation::add);
      break;
    case loss_kind::mean_squared_error: transform(false); break;
    case loss_kind::mean_absolute_error:
      binary(binary_operation::subtract);
      if (with_gradient) unary(unary_operation::signum);
      unary(unary_operation::absolute);
      break;
    case loss_kind::huber:
      binary(binary_operation::subtract);
      if (with_gradient) clip();
      unary(unary_operation::absolute);
      scalar(binary_operation::minimum);
      work.add(vertices::scaled_add{vertices::scaled_operation::subtract, type, type, elements}, target);
      binary(binary_operation::multiply);
      break;
  }
  work += reduced_rows(vertices::reduce_operation::add, type, dtype::float32, rows, columns, target);
  work.add(vertices::binary_op{binary_operation::multiply, dtype::float32, rows, true}, target);
  if (with_gradient) times_number_of_row();
  work += reduced_elements(vertices::reduce_operation::add, dtype::float32, rows, target);
  return work;
}

}  // namespace stagecraft::tiles
