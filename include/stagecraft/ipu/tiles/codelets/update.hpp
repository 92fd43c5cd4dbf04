// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: ipu/operations/update.hpp.
#pragma once

#include <stagecraft/ipu/operations/update.hpp>
#include <stagecraft/ipu/tiles/codelets/formula.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft {

namespace detail {

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

/// An optimizer's step on a tile's piece of a weight. `operands`: the weight, its gradient, its slots.
inline void run_optimizer(tile_operation const& operation, step_values const& values,
                          std::vector<tile_view> const& operands) {
  std::vector<tile_view> results = operands;
  results.erase(results.begin() + 1);
  formula_codelet(*operation.formula,
                  std::array{static_cast<double>(values.learning_rate), static_cast<double>(values.update)})
      .run(
          operands.size(), [&](std::size_t i, std::int64_t k) { return operands[i][k]; }, results,
          [&](auto& numbers, std::size_t count) {
            for (std::size_t k = 0; k < count; ++k) numbers[1][k] += penalty_gradient(operation, numbers[0][k]);
          });
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
  if (tiles == 0) return;
  auto const all = machine.allocate(0, tiles, dtype::float32);
  for (int tile = 0; tile < tiles; ++tile) machine.receive(all, tile, sums[tile], 0, 1);
  machine.end_exchange();
  auto const work = added_partials(tiles, machine.target());
  machine.count_flops(work.flops);
  machine.vertex("ReduceAdd", 0, work.cycles, [&] {
    double sum = 0;
    for (int tile = 0; tile < tiles; ++tile) sum += all[tile];
    machine.home(operation.outputs[0], 0).set(0, static_cast<float>(sum));
  });
  machine.end_compute_set();
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

}  // namespace detail

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
      if (detail::update_reads_own_piece(step, operation, i, machine.target())) {
        own.push_back(machine.home(operation.inputs[i], tile));
        continue;
      }
      own.push_back(machine.allocate(tile, mapping.elements_of(tile), step.input_of(operation, i).type));
      machine.receive(own.back(), 0, operation.inputs[i], mapping.first(tile), mapping.elements_of(tile));
    }
  machine.end_exchange();

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

}  // namespace stagecraft
