// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: ipu/operations/update.hpp.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/update.hpp>
#include <stagecraft/ipu/tiles/codelets/formula.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft::detail {

/// moving = moving * momentum + statistic * (1 - momentum): ipu/operations/update.hpp.
inline float moved_statistic(tile_operation const& operation, step_values const& values, float moving,
                             float statistic) {
  float const momentum = operation.scalars[0], rest = operation.scalars[1];
  auto const n = static_cast<float>(values.valid_samples) * static_cast<float>(operation.sizes[1]);
  float const correction = operation.sizes[0] != 0 && n > 1 ? n / (n - 1) : 1.0F;
  return statistic * (rest * correction) + moving * momentum;
}

/// What is added to a weight's gradient.
inline float penalty_gradient(tile_operation const& operation, float w) {
  float const l1 = operation.scalars[update_l1], twice_l2 = 2 * operation.scalars[update_l2];
  if (l1 == 0 && twice_l2 == 0) return 0;
  return twice_l2 * w + (w > 0 ? l1 : w < 0 ? -l1 : 0.0F);
}

/// What an optimizer's step is given everywhere; `operands` of a tile end with norms.
inline auto given_everywhere(tile_operation const& operation, step_values const& values,
                             std::vector<tile_view> const& operands) {
  std::array<double, update_tracer::first_norm + std::size(step_values{}.norms)> given{
      static_cast<double>(values.learning_rate), static_cast<double>(values.update),
      static_cast<double>(values.loss_scale)};
  static_assert(std::size(step_values{}.norms) == update_tracer::most_norms);
  for (std::size_t i = 0; i < update_tracer::most_norms; ++i)
    given[update_tracer::first_norm + i] = static_cast<double>(values.norms[i]);
  int const first = weight_operands(operation);
  for (int i = first; i < operation.input_count; ++i)
    given[operation.sizes[update_first_norm + i - first]] = static_cast<double>(operands[i][0]);
  return given;
}

/// An optimizer's step on a tile's piece of a weight. `operands`: the weight, its gradient, its slots, norms.
inline void run_optimizer(tile_operation const& operation, step_values const& values, std::vector<tile_view> operands) {
  formula_codelet const codelet(*operation.formula, given_everywhere(operation, values, operands));
  operands.resize(weight_operands(operation));
  std::vector<tile_view> results = operands;
  results.erase(results.begin() + 1);
  codelet.run(
      operands.size(), [&](std::size_t i, std::int64_t k) { return operands[i][k]; }, results,
      [&](auto& numbers, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) numbers[1][k] += penalty_gradient(operation, numbers[0][k]);
      });
}

/// Tile 0 adds up what all tiles have found.
inline void add_tiles(tile_machine& machine, tile_operation const& operation, std::vector<tile_view> const& sums) {
  int const tiles = static_cast<int>(sums.size());
  auto const all = machine.allocate(0, tiles, dtype::float32);
  for (int tile = 0; tile < tiles; ++tile) machine.receive(all, tile, sums[tile], 0, 1);
  machine.end_exchange();
  auto const work = added_sums(operation, tiles, machine.target());
  machine.count_flops(work.flops);
  machine.vertex("ReduceAdd", 0, work.cycles, [&] {
    double sum = 0;
    for (int tile = 0; tile < tiles; ++tile) sum += all[tile];
    bool const is_norm = static_cast<update_function>(operation.function) == update_function::norm;
    if (is_norm && operation.sizes[update_is_square] == 0) sum = std::sqrt(sum);
    machine.home(operation.outputs[0], 0).set(0, static_cast<float>(sum));
  });
  machine.end_compute_set();
}

/// Every tile finds the penalty of its piece; tile 0 adds these up.
inline void run_penalty(tile_machine& machine, tile_operation const& operation) {
  auto const mapping = machine.mapping(operation.inputs[0]);
  int const tiles = mapping.tiles_used();
  std::vector<tile_view> sums;
  for (int tile = 0; tile < tiles; ++tile) {
    sums.push_back(machine.allocate(tile, 1, dtype::float32));
    auto const weight = machine.home(operation.inputs[0], tile);
    auto const work = update_work(machine.step(), operation, weight.size(), machine.target());
    machine.count_flops(work.flops);
    machine.vertex("Penalty", tile, work.cycles, [&] {
      double l1 = 0, l2 = 0;
      for (std::int64_t i = 0; i < weight.size(); ++i) {
        l1 += std::fabs(weight[i]);
        l2 += double{weight[i]} * double{weight[i]};
      }
      sums.back().set(0, static_cast<float>(operation.scalars[update_l1] * l1 + operation.scalars[update_l2] * l2));
    });
  }
  machine.end_compute_set();
  if (tiles > 0) add_tiles(machine, operation, sums);
}

/// Every tile adds up squares of what the formula makes of its piece; tile 0 adds these up. `operands` of each tile.
inline void run_norm(tile_machine& machine, tile_operation const& operation,
                     std::vector<std::vector<tile_view>> const& operands) {
  auto const mapping = machine.mapping(operation.inputs[0]);
  auto const places = static_cast<std::size_t>(weight_operands(operation));
  std::vector<tile_view> sums;
  for (std::size_t tile = 0; tile < operands.size(); ++tile) {
    auto const& own = operands[tile];
    int const number = static_cast<int>(tile);
    sums.push_back(machine.allocate(number, 1, dtype::float32));
    bool const is_operand = is_norm_of_operand(operation);
    auto const of = is_operand ? own[operation.formula->steps[operation.formula->results[0]].index]
                               : machine.allocate(number, own[0].size(), dtype::float32);
    auto const work = update_work(machine.step(), operation, own[0].size(), machine.target());
    machine.count_flops(work.flops);
    machine.vertex("Norm", number, work.cycles, [&] {
      if (!is_operand)
        formula_codelet(*operation.formula, given_everywhere(operation, machine.values(), own))
            .run(places, [&](std::size_t i, std::int64_t k) { return own[i][k]; }, std::vector{of});
      double sum = 0;
      for (std::int64_t i = 0; i < of.size(); ++i)
        if (machine.element_at(operation.inputs[0], mapping.first(number) + i) >= 0)
          sum += double{of[i]} * double{of[i]};
      sums.back().set(0, static_cast<float>(sum));
    });
  }
  machine.end_compute_set();
  if (!sums.empty()) add_tiles(machine, operation, sums);
}

/// valid_mean and clear_filling, elementwise where the elements lie.
inline void run_of_valid_samples(tile_machine& machine, tile_operation const& operation) {
  auto const mapping = machine.mapping(operation.inputs[0]);
  std::int64_t const values = operation.sizes[1] * machine.values().valid_samples;
  bool const is_mean = static_cast<update_function>(operation.function) == update_function::valid_mean;
  for (int tile = 0; tile < mapping.tiles_used(); ++tile) {
    auto const from = machine.home(operation.inputs[0], tile), to = machine.home(operation.outputs[0], tile);
    auto const work = update_work(machine.step(), operation, from.size(), machine.target());
    machine.count_flops(work.flops);
    machine.vertex(is_mean ? "Multiply" : "Fill", tile, work.cycles, [&] {
      auto const first = is_mean ? 0 : larger(0, smaller(values - mapping.first(tile), from.size()));
      for (std::int64_t i = first; i < from.size(); ++i)
        to.set(i, is_mean ? from[i] * (1.0F / static_cast<float>(values)) : 0.0F);
    });
  }
  machine.end_compute_set();
}

}  // namespace stagecraft::detail

namespace stagecraft::tiles {

inline void run_update(tile_machine& machine, tile_operation const& operation) {
  auto const function = static_cast<update_function>(operation.function);
  if (function == update_function::penalty) return detail::run_penalty(machine, operation);
  if (function == update_function::valid_mean || function == update_function::clear_filling)
    return detail::run_of_valid_samples(machine, operation);
  auto const& step = machine.step();
  auto const mapping = machine.mapping(operation.inputs[0]);
  int const tiles = mapping.tiles_used();
  std::vector<std::vector<tile_view>> operands(tiles);
  for (int tile = 0; tile < tiles; ++tile)
    for (int i = 0; i < operation.input_count; ++i) {
      auto& own = operands[tile];
      if (i >= detail::weight_operands(operation)) {
        own.push_back(machine.allocate(tile, 1, dtype::float32));
        machine.receive(own.back(), 0, operation.inputs[i], 0, 1);
        continue;
      }
      if (detail::update_reads_own_piece(step, operation, i, machine.target())) {
        own.push_back(machine.home(operation.inputs[i], tile));
        continue;
      }
      own.push_back(machine.allocate(tile, mapping.elements_of(tile), step.input_of(operation, i).type));
      machine.receive(own.back(), 0, operation.inputs[i], mapping.first(tile), mapping.elements_of(tile));
    }
  machine.end_exchange();
  if (function == update_function::norm) return detail::run_norm(machine, operation, operands);

  for (int tile = 0; tile < tiles; ++tile) {
    auto const& own = operands[tile];
    auto const work = detail::update_work(step, operation, mapping.elements_of(tile), machine.target());
    machine.count_flops(work.flops);
    machine.vertex("Update", tile, work.cycles, [&] {
      if (function == update_function::optimizer) return detail::run_optimizer(operation, machine.values(), own);
      for (std::int64_t i = 0; i < own[0].size(); ++i)
        own[0].set(i, detail::moved_statistic(operation, machine.values(), own[0][i], own[1][i]));
    });
  }
  machine.end_compute_set();
}

}  // namespace stagecraft::tiles
