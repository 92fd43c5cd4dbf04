// SPDX-License-Identifier: BSD-3-Clause
// Tasks on whole rows: softmax, losses, and the gradients of both.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/non_linearity.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/formula_work.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <stagecraft/losses/loss_formula.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/operations/flops.hpp>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// A loss as a task has it, in its row_task, `formula` and `row_plan`. What tiles compute comes from the loss's `call`,
/// for all losses: `formula` if the call is a function at each place, otherwise `row_plan`. `kind`, `from_logits` and
/// `option` are for the price alone, for which Graphcore's libraries have vertices of their own. Prices that followed
/// from the call would not be theirs: for 100 rows of 1000 columns, with gradients, a tile would take 1.07 times as
/// many cycles for the mean squared error in float32 (2.0 in float16), 1.35 (2.6) for the mean absolute error, 1.8
/// (3.5) for huber and 4.6 (9.2) for the sparse categorical cross entropy of logits.
struct loss_rule {
  loss_kind kind = loss_kind::mean_squared_error;
  bool from_logits = false;
  float option = 0;  ///< label_smoothing, or huber's delta
  operations::formula_view const* formula = nullptr;
  operations::plan_view const* plan = nullptr;

  [[nodiscard]] static constexpr loss_rule of(task const& task) noexcept {
    auto const& what = task.what.as<row_task>();
    return {what.loss, what.from_logits != 0, static_cast<float>(what.option), task.formula, task.row_plan};
  }
  [[nodiscard]] constexpr bool is_categorical() const noexcept {
    return kind == loss_kind::sparse_categorical_crossentropy || kind == loss_kind::categorical_crossentropy;
  }
  /// True if a softmax computes probabilities from the predictions first.
  [[nodiscard]] constexpr bool needs_softmax() const noexcept { return is_categorical() && from_logits; }
};

/// The rule of a loss of the library, or of one that is written as a `call`.
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

/// The price of a loss of `rows` rows on a tile. popnn has a vertex for cross entropy after softmax and one for squared
/// differences, which compute losses and gradients: loss_transform. popops' vertices do the rest of the definitions:
/// - probabilities: two for clipping them; categorical: sums, their inverses and products with these;
/// - class numbers: a matrix of ones and zeros is filled;
/// - smoothed targets: a product and a sum;
/// - binary: cross entropy for both answers, whose probabilities and targets are differences from 1, and the sum;
///   logits: sigmoid;
/// - mean absolute error: difference, absolute value, sign;
/// - huber: difference, absolute value, the smaller of it and delta: m (|e| - m / 2); two for clipping the gradient;
/// - any other loss that is a function at each place: the operations of its formula;
/// - any other loss of whole rows: scalar code of a worker for each row, with 3 instructions, two loads and the
///   operation, for each operation of its plan;
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

/// y = softmax(x) along the middle one of (outer, columns, inner).
constexpr void append_softmax(lowered_step& step, int x, int y, std::int64_t outer, std::int64_t columns,
                              std::int64_t inner) {
  step.add(row_task{rows_function::softmax_of_rows, outer, columns, inner}, {x}, {y});
}

/// dx = y * (dy - sum(y * dy)) along the middle one of (outer, columns, inner). dx may be dy.
constexpr void append_softmax_gradient(lowered_step& step, int dy, int y, int dx, std::int64_t outer,
                                       std::int64_t columns, std::int64_t inner) {
  step.add(row_task{rows_function::softmax_gradient, outer, columns, inner}, {dy, y}, {dx});
}

/// Scale of a loss and its gradient in addition to the rows' scales, and the rows that count.
struct loss_scale {
  float factor = 1;
  bool running_mean = false;         ///< divides by the number of micro-batches of this weight update so far
  std::int64_t rows_per_sample = 0;  ///< rows of a sample, so that only rows of valid samples count; 0: all count
};

/// loss = the sum over rows of scale * loss(row), one number, and, unless `gradient` is -1, the gradient of that by the
/// prediction. prediction (rows, columns); targets (rows) class numbers for sparse losses, else (rows, columns);
/// scales (rows). Definitions as in kernels/loss/loss.hpp.
constexpr void append_loss(lowered_step& step, loss_rule const& loss, int prediction, int targets, int scales,
                           int result, int gradient, std::int64_t rows, std::int64_t columns,
                           loss_scale const& scale = {}) {
  row_task const what{.function = gradient < 0 ? rows_function::loss : rows_function::loss_gradient,
                      .outer = rows,
                      .columns = columns,
                      .loss = loss.kind,
                      .from_logits = loss.from_logits ? 1 : 0,
                      .option = static_cast<double>(loss.option),
                      .factor = static_cast<double>(scale.factor),
                      .running_mean = scale.running_mean ? 1 : 0,
                      .rows_per_sample = scale.rows_per_sample};
  auto& task = step.add(what, {prediction, targets, scales}, {result});
  if (gradient >= 0) task.outputs[task.output_count++] = gradient;
  task.formula = loss.formula;
  task.row_plan = loss.plan;
}

/// Softmax as popnn makes it of popops' operations: differences from each row's maximum, exponents, and products with
/// one inverse for each row of their sums, which are float32. Source: poplibs, lib/popnn/NonLinearity.cpp, softmaxImpl.
constexpr vertex_work softmax_work(dtype type, std::int64_t rows, std::int64_t columns, ipu_target const& target) {
  using vertices::binary_operation, vertices::reduce_operation, vertices::unary_operation;
  auto work = reduced_rows(reduce_operation::max, type, type, rows, columns, target);
  work += combined_rows(binary_operation::subtract, type, rows, columns, target);
  work.add(vertices::unary_op{unary_operation::exponent, type, rows * columns, true}, target);
  work += reduced_rows(reduce_operation::add, type, dtype::float32, rows, columns, target);
  work.add(vertices::unary_op{unary_operation::inverse, dtype::float32, rows, true}, target);
  if (type == dtype::float16) work.add(vertices::cast{dtype::float32, dtype::float16, rows}, target);
  work += combined_rows(binary_operation::multiply, type, rows, columns, target);
  return work;
}

/// Products of y and dy, less y times the sum of these. Source: the same, softmaxInputGradientImpl.
constexpr vertex_work softmax_gradient_work(dtype type, std::int64_t rows, std::int64_t columns,
                                            ipu_target const& target) {
  using vertices::binary_operation;
  vertex_work work;
  work.add(vertices::binary_op{binary_operation::multiply, type, rows * columns}, target);
  work += reduced_rows(vertices::reduce_operation::add, type, type, rows, columns, target);
  work += combined_rows(binary_operation::multiply, type, rows, columns, target);
  work.add(vertices::binary_op{binary_operation::subtract, type, rows * columns, true}, target);
  return work;
}

/// The work of a tile with `rows` rows.
constexpr vertex_work rows_work(lowered_step const& step, task const& task, std::int64_t rows,
                                ipu_target const& target) {
  auto const type = step.input_of(task).type;
  auto const& what = task.what.as<row_task>();
  auto const columns = what.columns;
  switch (what.function) {
    case rows_function::softmax_of_rows: return softmax_work(type, rows, columns, target);
    case rows_function::softmax_gradient: return softmax_gradient_work(type, rows, columns, target);
    default: break;
  }
  bool const with_gradient = what.function == rows_function::loss_gradient;
  auto const rule = loss_rule::of(task);
  auto work = rule.needs_softmax() ? softmax_work(type, rows, columns, target) : vertex_work{};
  work += loss_work(rule, type, rows, columns, with_gradient, target);
  return work;
}

/// Floats of intermediate values that a tile's workers need for a loss that is a plan of rows, each worker for the row
/// that it works on.
constexpr std::int64_t floats_of_workers(task const& task, std::int64_t rows, ipu_target const& target) {
  auto const& what = task.what.as<row_task>();
  if (!what.is_loss() || what.loss != loss_kind::traced) return 0;
  auto const& plan = *task.row_plan;
  std::int64_t const workers = target.num_worker_contexts < rows ? target.num_worker_contexts : rows;
  bool const with_gradient = what.function == rows_function::loss_gradient;
  return workers *
         (plan.kept_floats + larger(plan.forward_workspace, with_gradient ? plan.backward_workspace : std::int64_t{0}));
}

/// Elements of an operand in a row.
constexpr std::int64_t row_elements(lowered_step const& step, task const& task, int input) {
  return step.input_of(task, input).elements / task.what.as<row_task>().rows();
}

/// A tile's copies: its rows of all operands, of which the first becomes the result; of a loss, the sum over its rows,
/// and on tile 0 what all tiles have found, which is added up there.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, row_task const& what,
                                               ipu_target const& target) {
  operation_cost cost;
  equal_shares const shares(what.rows(), target);
  std::int64_t received = 0;
  for (int i = 0; i < task.input_count; ++i) {
    auto const bytes = shares.of(0) * row_elements(step, task, i) * size_of(step.input_of(task, i).type);
    received += bytes;
    cost.temporary_bytes += rounded_bytes(bytes);
  }
  cost.temporary_bytes += rounded_bytes(floats_of_workers(task, shares.of(0), target) * size_of(dtype::float32));
  cost.add_exchange(target, received);
  add_compute_set(cost, shares, [&](std::int64_t rows) { return rows_work(step, task, rows, target); });
  bool const is_loss = what.is_loss();
  std::int64_t sent = 0;
  if (what.function != rows_function::loss) {
    auto const& result = step.output_of(task, is_loss ? 1 : 0);
    sent = tile_mapping(result, target).elements_of(0) * size_of(result.type);
  }
  int const tiles = shares.tiles_used();
  cost.add_exchange(target, sent + (is_loss ? tiles * size_of(dtype::float32) : 0));
  if (is_loss) {
    auto const sum = added_partials(tiles, target);
    cost.add_compute_set(sum.cycles);
    cost.flops += sum.flops;
    cost.temporary_bytes += rounded_bytes(size_of(dtype::float32)) + rounded_bytes(tiles * size_of(dtype::float32));
  }
  return cost;
}

}  // namespace stagecraft::tiles
