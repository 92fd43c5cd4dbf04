// SPDX-License-Identifier: BSD-3-Clause
// An optimizer's step on a weight, elementwise on the tiles where the weight lies; the penalty of a weight; and the
// moving statistics of batch_normalization.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/update_work.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <cstdint>

namespace stagecraft::tiles {

constexpr void write_penalty(task& task, regularizer const& penalty) {
  task.what.as<update_task>().l1 = static_cast<double>(penalty.l1);
  task.what.as<update_task>().l2 = static_cast<double>(penalty.l2);
}

/// A norm that an optimizer's step reads: a tensor of one number, and its index among the norms that step_values has.
struct given_norm {
  int tensor;
  int number;
};

constexpr void write_norms(task& task, tracing::array_view<given_norm const> norms) {
  auto& what = task.what.as<update_task>();
  what.norms = static_cast<std::int64_t>(norms.size());
  for (std::size_t i = 0; i < norms.size(); ++i) {
    task.inputs[task.input_count++] = norms[i].tensor;
    what.number_of_norm[i] = norms[i].number;
  }
}

/// An optimizer's step on a weight and its state: `state` names a tensor of the weight's type for each slot. The
/// penalty's gradient is added to the gradient first, whose tensor stays as it is. Learning rate, number of the update
/// and norms are those of step_values, but for `norms`.
constexpr void append_update(lowered_step& step, operations::formula_view const& optimizer, int weight, int gradient,
                             int const* state, regularizer const& penalty = {},
                             tracing::array_view<given_norm const> norms = {}) {
  auto& task = step.add(update_task{update_function::optimizer}, {weight, gradient}, {weight});
  for (std::size_t i = 1; i < optimizer.results.size(); ++i) {
    task.inputs[task.input_count++] = state[i - 1];
    task.outputs[task.output_count++] = state[i - 1];
  }
  task.formula = &optimizer;
  write_norms(task, norms);
  write_penalty(task, penalty);
}

/// result = the norm over a weight of what a formula of the same operands says, or its square; one number.
constexpr void append_norm(lowered_step& step, operations::formula_view const& of, int weight, int gradient,
                           int const* state, int slots, tracing::array_view<given_norm const> norms, int result,
                           bool is_square = false) {
  auto& task = step.add(update_task{update_function::norm}, {weight, gradient}, {result});
  for (int i = 0; i < slots; ++i) task.inputs[task.input_count++] = state[i];
  task.formula = &of;
  task.what.as<update_task>().is_square = is_square ? 1 : 0;
  write_norms(task, norms);
}

/// result = l1 * sum|w| + l2 * sum w^2, one number.
constexpr void append_penalty(lowered_step& step, regularizer const& penalty, int weight, int result) {
  write_penalty(step.add(update_task{update_function::penalty}, {weight}, {result}), penalty);
}

/// moving = moving * momentum + statistic * (1 - momentum). If `unbiased`, a statistic that is a variance of n values
/// becomes that of n - 1 first, where n is `values_per_sample` times the samples that are valid.
constexpr void append_move_statistic(lowered_step& step, int moving, int statistic, double momentum,
                                     bool unbiased = false, std::int64_t values_per_sample = 1) {
  step.add(update_task{.function = update_function::move_statistic,
                       .momentum = static_cast<double>(static_cast<float>(momentum)),
                       .rest = static_cast<double>(static_cast<float>(1 - momentum)),
                       .unbiased = unbiased ? 1 : 0,
                       .values_per_sample = values_per_sample},
           {moving, statistic}, {moving});
}

/// mean = sum / n, where n is `values_per_sample` times the samples that are valid; both of one type and size.
constexpr void append_valid_mean(lowered_step& step, int sum, int mean, std::int64_t values_per_sample) {
  step.add(update_task{.function = update_function::valid_mean, .values_per_sample = values_per_sample}, {sum}, {mean});
}

/// Elements of samples that only fill the batch become 0.
constexpr void append_clear_filling(lowered_step& step, int tensor, std::int64_t values_per_sample) {
  step.add(update_task{.function = update_function::clear_filling, .values_per_sample = values_per_sample}, {tensor},
           {tensor});
}

/// The work of tile 0, which adds up the sums of all tiles.
constexpr vertex_work added_sums(task const& task, int tiles, ipu_target const& target) {
  vertex_work work = added_partials(tiles, target);
  if (auto const& what = task.what.as<update_task>(); what.function == update_function::norm && what.is_square == 0)
    work.add(vertices::unary_op{vertices::unary_operation::sqrt, dtype::float32, 1, true}, target);
  return work;
}

/// True if an operand lies where the first one does; else a tile receives what it needs of it.
constexpr bool update_reads_own_piece(lowered_step const& step, task const& task, int input, ipu_target const& target) {
  return lie_alike(step.input_of(task), step.input_of(task, input), target);
}

/// A tile's copies: operands of another type, whose pieces are others, and norms; of a penalty or norm, the tile's sum,
/// and on tile 0 what all tiles have found, which is added up there; of a norm, what it is taken of.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, update_task const& what,
                                               ipu_target const& target) {
  operation_cost cost;
  auto const& weight = step.input_of(task);
  tile_mapping const mapping(weight, target);
  equal_shares const pieces(mapping.elements, mapping.elements_per_tile);
  std::int64_t received = 0;
  for (int i = 1; i < task.input_count; ++i) {
    bool const is_norm = i >= weight_operands(task);
    if (is_norm) {
      received += size_of(dtype::float32);
      cost.temporary_bytes += rounded_bytes(size_of(dtype::float32));
      continue;
    }
    if (update_reads_own_piece(step, task, i, target)) continue;
    auto const bytes = mapping.elements_of(0) * size_of(step.input_of(task, i).type);
    received += bytes;
    cost.temporary_bytes += rounded_bytes(bytes);
  }
  cost.add_exchange(target, received);
  add_compute_set(cost, pieces, [&](std::int64_t elements) { return update_work(step, task, elements, target); });
  bool const is_norm = what.function == update_function::norm;
  if (!is_norm && what.function != update_function::penalty) return cost;
  if (is_norm && !is_norm_of_operand(task))
    cost.temporary_bytes += rounded_bytes(mapping.elements_of(0) * size_of(dtype::float32));
  int const tiles = pieces.tiles_used();
  cost.add_exchange(target, tiles * size_of(dtype::float32));
  auto const sum = added_sums(task, tiles, target);
  cost.add_compute_set(sum.cycles);
  cost.flops += sum.flops;
  cost.temporary_bytes += rounded_bytes(size_of(dtype::float32)) + rounded_bytes(tiles * size_of(dtype::float32));
  return cost;
}

}  // namespace stagecraft::tiles
