// SPDX-License-Identifier: BSD-3-Clause
// Reductions over an axis on many tiles, as popops::reduceMany: partial results are made where the elements lie,
// perhaps on the way, and where the results lie.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/task_work.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// The division of a reduction among tiles. (outer, reduced, inner) -> (outer, inner):
/// 1. if `is_local`, each tile reduces what it has to one partial result per column, in each of the outer blocks that
///    it has a part of; else the partial results are the elements themselves;
/// 2. if `parts` > 1, all tiles receive equal shares of the partial results, and reduce them to (outer, parts, inner);
/// 3. the tiles where the results lie receive what there is for them, and reduce it.
/// A tile receives as many partial results for each result as there are for the one with most.
struct reduce_plan {
  std::int64_t outer = 1, reduced = 1, inner = 1;
  tile_mapping elements;  ///< the input's mapping
  tile_mapping results;
  tile_mapping shares;          ///< the mapping of (outer, parts, inner)
  dtype type = dtype::float32;  ///< the input's type, also that of partial results that are its elements
  dtype result_type = dtype::float32;
  int operands = 1;  ///< elements that a partial result consists of if it is not local
  bool is_local = false;
  std::int64_t partials = 1;  ///< for a result, at most
  std::int64_t parts = 1;

  [[nodiscard]] constexpr std::int64_t block() const noexcept { return reduced * inner; }
  /// The most outer blocks of which a piece of `piece` elements has a part.
  [[nodiscard]] constexpr std::int64_t blocks_of(std::int64_t piece) const noexcept {
    if (elements.elements_per_tile % block() == 0) return ceil_div(piece, block());
    if (block() % elements.elements_per_tile == 0) return 1;
    return piece < 2 ? piece : (piece - 2) / block() + 2;
  }
  /// Partial results of a tile after its own reduction.
  [[nodiscard]] constexpr std::int64_t local_partials(std::int64_t piece) const noexcept {
    return blocks_of(piece) * inner;
  }
  /// Partial results of which one of a share is made.
  [[nodiscard]] constexpr std::int64_t partials_of_part() const noexcept { return ceil_div(partials, parts); }
  /// Number of partial results that the last reduction finds for each result.
  [[nodiscard]] constexpr std::int64_t last_partials() const noexcept { return parts > 1 ? parts : partials; }
  [[nodiscard]] constexpr std::int64_t partial_bytes() const noexcept {
    return is_local ? size_of(dtype::float32) : operands * size_of(type);
  }
  [[nodiscard]] constexpr std::int64_t last_partial_bytes() const noexcept {
    return parts > 1 ? size_of(dtype::float32) : partial_bytes();
  }
};

/// Reduces `depth` rows of `columns` elements to one row. Workers share the columns, or the rows and then the columns
/// of what they have found.
[[nodiscard]] constexpr std::int64_t reduced_columns(vertices::reduce_operation operation, dtype from, dtype to,
                                                     std::int64_t columns, std::int64_t depth,
                                                     ipu_target const& target) noexcept {
  int const workers = target.num_worker_contexts;
  vertices::strided_reduce vertex{operation, from, to, ceil_div(columns, workers), depth, columns};
  auto const by_columns = workers * vertex.worker_cycles(target);
  if (depth < 2 * workers) return by_columns;
  vertex.output = dtype::float32;
  vertex.outputs = columns;
  vertex.depth = ceil_div(depth, workers);
  auto const of_rows = workers * vertex.worker_cycles(target);
  auto const second = operation == vertices::reduce_operation::square_add ? vertices::reduce_operation::add : operation;
  vertices::strided_reduce const of_workers{second, dtype::float32, to, ceil_div(columns, workers), workers, columns};
  return smaller(by_columns, of_rows + workers * of_workers.worker_cycles(target));
}

/// The first reduction that an element meets.
[[nodiscard]] constexpr vertex_work first_reduction(reduce_function function, dtype from, dtype to,
                                                    std::int64_t columns, std::int64_t depth,
                                                    ipu_target const& target) noexcept {
  using vertices::reduce_operation;
  auto const elements = columns * depth;
  vertex_work work{0, elements};
  auto task = reduce_operation::add;
  if (function == reduce_function::maximum) task = reduce_operation::max;
  if (function == reduce_function::sum_of_squares) {
    task = reduce_operation::square_add;
    work.flops += elements;
  }
  if (function == reduce_function::sum_of_products)
    work.add(vertices::binary_op{vertices::binary_operation::multiply, from, elements}, target);
  work.cycles += reduced_columns(task, from, to, columns, depth, target);
  return work;
}
/// The work of the vertices of a later stage, which reduce partial results.
[[nodiscard]] constexpr vertex_work next_reduction(reduce_function function, dtype to, std::int64_t columns,
                                                   std::int64_t depth, ipu_target const& target) noexcept {
  bool const is_maximum = function == reduce_function::maximum;
  return {reduced_columns(is_maximum ? vertices::reduce_operation::max : vertices::reduce_operation::add,
                          dtype::float32, to, columns, depth, target),
          columns * depth};
}

/// The factor of the results.
[[nodiscard]] constexpr float reduce_scale(task const& task) noexcept {
  auto const& what = task.what.as<axis_reduction>();
  auto const scale = static_cast<float>(what.scale);
  return what.function == reduce_function::mean ? scale / static_cast<float>(what.reduced) : scale;
}

/// The work of a tile with `piece` elements.
[[nodiscard]] constexpr vertex_work local_reduction(task const& task, reduce_plan const& plan, std::int64_t piece,
                                                    ipu_target const& target) noexcept {
  auto const function = task.what.as<axis_reduction>().function;
  std::int64_t const blocks = plan.blocks_of(piece);
  // One block after the other is reduced, each with its part of the rows.
  std::int64_t const depth = ceil_div(ceil_div(piece, plan.inner), blocks);
  auto const one = first_reduction(function, plan.type, dtype::float32, plan.inner, depth, target);
  return {blocks * one.cycles, piece * (one.flops / (plan.inner * depth))};
}
/// The work of a tile for `count` partial results of its share.
[[nodiscard]] constexpr vertex_work share_reduction(task const& task, reduce_plan const& plan, std::int64_t count,
                                                    ipu_target const& target) noexcept {
  auto const function = task.what.as<axis_reduction>().function;
  return plan.is_local ? next_reduction(function, dtype::float32, count, plan.partials_of_part(), target)
                       : first_reduction(function, plan.type, dtype::float32, count, plan.partials_of_part(), target);
}
/// The work of a tile for `count` results.
[[nodiscard]] constexpr vertex_work last_reduction(task const& task, reduce_plan const& plan, std::int64_t count,
                                                   ipu_target const& target) noexcept {
  auto const function = task.what.as<axis_reduction>().function;
  auto const to = plan.result_type;
  auto work = plan.is_local || plan.parts > 1
                  ? next_reduction(function, to, count, plan.last_partials(), target)
                  : first_reduction(function, plan.type, to, count, plan.last_partials(), target);
  if (reduce_scale(task) != 1)
    work.add(vertices::broadcast_op{vertices::binary_operation::multiply, to, count, true}, target);
  return work;
}

[[nodiscard]] constexpr operation_cost cost_of_plan(task const& task, reduce_plan const& plan,
                                                    ipu_target const& target) noexcept {
  operation_cost cost;
  auto const tiles_of = [](tile_mapping const& mapping) {
    return equal_shares{mapping.elements, mapping.elements_per_tile};
  };
  auto const receive = [&](std::int64_t count, std::int64_t bytes, int copies) {
    cost.add_exchange(target, count * bytes);
    cost.temporary_bytes += copies * rounded_bytes(count * bytes / copies);
  };
  if (plan.is_local) {
    add_compute_set(cost, tiles_of(plan.elements),
                    [&](std::int64_t piece) { return local_reduction(task, plan, piece, target); });
    cost.temporary_bytes += rounded_bytes(plan.local_partials(plan.elements.elements_of(0)) * size_of(dtype::float32));
  }
  int const copies = plan.is_local ? 1 : plan.operands;
  if (plan.parts > 1) {
    auto const count = plan.shares.elements_of(0);
    receive(count * plan.partials_of_part(), plan.partial_bytes(), copies);
    cost.temporary_bytes += rounded_bytes(count * size_of(dtype::float32));
    add_compute_set(cost, tiles_of(plan.shares),
                    [&](std::int64_t share) { return share_reduction(task, plan, share, target); });
  }
  receive(plan.results.elements_of(0) * plan.last_partials(), plan.last_partial_bytes(), plan.parts > 1 ? 1 : copies);
  add_compute_set(cost, tiles_of(plan.results),
                  [&](std::int64_t results) { return last_reduction(task, plan, results, target); });
  return cost;
}

/// Chooses the way with fewest cycles. Tiles may reduce what they have if it is a row of columns at least, and must if
/// it is 16 or more; then powers of 4 are tried for the number of parts.
[[nodiscard]] constexpr reduce_plan plan_reduce(lowered_step const& step, task const& task,
                                                ipu_target const& target) noexcept {
  auto const& input = step.input_of(task);
  auto const& result = step.output_of(task);
  auto const& what = task.what.as<axis_reduction>();
  reduce_plan plan{.outer = what.outer,
                   .reduced = what.reduced,
                   .inner = what.inner,
                   .elements = {input.elements, input.type, target},
                   .results = {result.elements, result.type, target},
                   .shares = {},
                   .type = input.type,
                   .result_type = result.type,
                   .operands = task.input_count};
  auto const piece = plan.elements.elements_per_tile;
  auto best = plan;
  std::int64_t cycles = -1;
  auto const try_parts = [&] {
    for (plan.parts = 1; plan.parts == 1 || plan.parts < plan.partials; plan.parts *= 4) {
      plan.shares = {plan.outer * plan.parts * plan.inner, dtype::float32, target};
      auto const these = cost_of_plan(task, plan, target).cycles();
      if (cycles >= 0 && these >= cycles) continue;
      cycles = these;
      best = plan;
    }
  };
  if (plan.inner <= piece) {
    auto const bound = plan.block() % piece == 0 ? plan.block() / piece : (plan.block() - 2) / piece + 2;
    plan.is_local = true;
    plan.partials = piece % plan.block() == 0 ? 1 : smaller(bound, plan.elements.tiles_used());
    try_parts();
  }
  if (piece < 16 * plan.inner) {
    plan.is_local = false;
    plan.partials = plan.reduced;
    try_parts();
  }
  return best;
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, axis_reduction const&,
                                               ipu_target const& target) noexcept {
  return cost_of_plan(task, plan_reduce(step, task, target), target);
}

/// (outer, reduced, inner) -> (outer, inner): reduces the middle one of three axes, and multiplies the result with
/// `scale`. Partial results are float32.
/// With `samples`, which is possible for an outer of 1, the middle axis is a batch of `samples` samples, each of
/// several rows: those of samples that only fill the batch do not count, and a scale for all of them becomes one for
/// the rest.
constexpr void append_reduce(lowered_step& step, reduce_function function, std::initializer_list<int> inputs,
                             int result, std::int64_t outer, std::int64_t reduced, std::int64_t inner, float scale = 1,
                             std::int64_t samples = 0) {
  step.add(axis_reduction{function, outer, reduced, inner, samples, static_cast<double>(scale)}, inputs, {result});
}

}  // namespace stagecraft::tiles
