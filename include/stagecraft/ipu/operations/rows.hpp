// SPDX-License-Identifier: BSD-3-Clause
// Functions of whole rows: softmax and its gradient, losses and theirs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/binary_op.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/unary_op.hpp>
#include <stagecraft/ipu/operations/row_losses.hpp>
#include <stagecraft/ipu/operations/task_counter.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// y = softmax(x) along the middle one of (outer, columns, inner).
constexpr void append_softmax(lowered_step& step, int x, int y, std::int64_t outer, std::int64_t columns,
                              std::int64_t inner) {
  step.add(row_operation{rows_function::softmax_of_rows, outer, columns, inner}, {x}, {y});
}

/// dx = y * (dy - sum(y * dy)) along the middle one of (outer, columns, inner). dx may be dy.
constexpr void append_softmax_gradient(lowered_step& step, int dy, int y, int dx, std::int64_t outer,
                                       std::int64_t columns, std::int64_t inner) {
  step.add(row_operation{rows_function::softmax_gradient, outer, columns, inner}, {dy, y}, {dx});
}

/// How a loss's gradient is scaled, besides by the rows' scales, and which rows count.
struct loss_scale {
  float factor = 1;
  bool running_mean = false;         ///< and divided by the number of micro-batches of this weight update so far
  std::int64_t rows_per_sample = 0;  ///< of which those of valid samples count; 0: all rows do
};

/// loss = the sum over rows of scale * loss(row), one number, and, unless `gradient` is -1, the gradient of that by the
/// prediction. prediction (rows, columns); targets (rows) class numbers for sparse losses, else (rows, columns);
/// scales (rows). Definitions as in kernels/loss/loss.hpp.
constexpr void append_loss(lowered_step& step, loss_rule const& loss, int prediction, int targets, int scales,
                           int result, int gradient, std::int64_t rows, std::int64_t columns,
                           loss_scale const& scale = {}) {
  row_operation const what{.function = gradient < 0 ? rows_function::loss : rows_function::loss_gradient,
                           .outer = rows,
                           .columns = columns,
                           .loss = loss.kind,
                           .from_logits = loss.from_logits ? 1 : 0,
                           .option = loss.option,
                           .factor = scale.factor,
                           .running_mean = scale.running_mean ? 1 : 0,
                           .rows_per_sample = scale.rows_per_sample};
  auto& operation = step.add(what, {prediction, targets, scales}, {result});
  if (gradient >= 0) operation.outputs[operation.output_count++] = gradient;
  operation.formula = loss.formula;
  operation.row_plan = loss.plan;
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

/// What a tile does with its rows.
constexpr vertex_work rows_work(lowered_step const& step, tile_operation const& operation, std::int64_t rows,
                                ipu_target const& target) {
  auto const type = step.input_of(operation).type;
  auto const& what = operation.what.as<row_operation>();
  auto const columns = what.columns;
  switch (what.function) {
    case rows_function::softmax_of_rows: return softmax_work(type, rows, columns, target);
    case rows_function::softmax_gradient: return softmax_gradient_work(type, rows, columns, target);
    default: break;
  }
  bool const with_gradient = what.function == rows_function::loss_gradient;
  auto const rule = loss_rule::of(operation);
  auto work = rule.needs_softmax() ? softmax_work(type, rows, columns, target) : vertex_work{};
  work += loss_work(rule, type, rows, columns, with_gradient, target);
  return work;
}

/// Floats that a tile's workers need for values between those of a loss that is a plan of rows, each for the row that
/// it works on: long sequences need much.
constexpr std::int64_t floats_of_workers(tile_operation const& operation, std::int64_t rows, ipu_target const& target) {
  auto const& what = operation.what.as<row_operation>();
  if (!what.is_loss() || what.loss != loss_kind::traced) return 0;
  auto const& plan = *operation.row_plan;
  std::int64_t const workers = target.num_worker_contexts < rows ? target.num_worker_contexts : rows;
  bool const with_gradient = what.function == rows_function::loss_gradient;
  return workers *
         (plan.kept_floats + larger(plan.forward_workspace, with_gradient ? plan.backward_workspace : std::int64_t{0}));
}

/// Whole rows of (outer, columns, inner), where row r is that of outer index r / inner and inner index r % inner, one
/// after the other in the memory of a tile. `move(at, first, count)` is called for each run of elements of the tensor
/// from `first` on.
template <class Move>
constexpr void for_runs_of_rows(std::int64_t first_row, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                                Move const& move) {
  if (inner == 1) return move(0, first_row * columns, rows * columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const begin = (first_row + row) / inner * columns * inner + (first_row + row) % inner;
    for (std::int64_t c = 0; c < columns; ++c) move(row * columns + c, begin + c * inner, 1);
  }
}

/// A tile receives its rows of all operands, of which the first becomes the result, and sends the result's rows to
/// where they lie. Of a loss, it sends the sum over its rows to tile 0, too, where the sums of all tiles are added up.
template <class Walk>
constexpr void walk(Walk& on, row_operation const& what) {
  lowered_step const& step = on.step();
  tile_operation const& operation = on.operation();
  ipu_target const& target = on.target();
  bool const is_loss = what.is_loss();
  equal_shares const shares(what.rows(), target);
  int const tiles = shares.tiles_used();
  auto const runs = [&](int tile, std::int64_t width, auto const& move) {
    for_runs_of_rows(shares.first(tile), shares.of(tile), width, what.inner, move);
  };
  typename Walk::memory copies[3]{}, sums{};
  for (int i = 0; i < operation.input_count; ++i)
    copies[i] = on.receive(shares, i, step.input_of(operation, i).elements / what.rows(), runs);
  if (auto const floats = floats_of_workers(operation, shares.of(0), target); floats > 0)
    on.allocate(tiles, floats, dtype::float32);
  if (is_loss) sums = on.allocate(tiles, 1, dtype::float32);
  on.end_exchange();
  on.compute_set(
      is_loss ? "Loss" : "Softmax", shares, [&](std::int64_t rows) { return rows_work(step, operation, rows, target); },
      [&](auto& machine, int tile) { run_rows(machine, operation, shares, tile, copies, sums); });
  if (what.function != rows_function::loss) on.send(copies[0], is_loss ? 1 : 0, what.columns, runs);
  if (!is_loss) return on.end_exchange();
  add_up_tiles(on, sums, tiles, added_partials(tiles, target));
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, tile_operation const& operation,
                                               row_operation const& what, ipu_target const& target) {
  task_counter on{step, operation, target};
  walk(on, what);
  return on.cost;
}

}  // namespace stagecraft::tiles
