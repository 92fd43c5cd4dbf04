// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: ipu/tasks/update.hpp.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <stagecraft/ipu/tiles/codelets/formula.hpp>
#include <stagecraft/ipu/tiles/codelets/sum_of_tiles.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// moving = moving * momentum + statistic * (1 - momentum): ipu/tasks/update.hpp.
inline float moved_statistic(task const& task, step_values const& values, float moving, float statistic) {
  auto const& what = task.what.as<update_task>();
  auto const momentum = static_cast<float>(what.momentum), rest = static_cast<float>(what.rest);
  auto const n = static_cast<float>(values.valid_samples) * static_cast<float>(what.values_per_sample);
  float const correction = what.unbiased != 0 && n > 1 ? n / (n - 1) : 1.0F;
  return statistic * (rest * correction) + moving * momentum;
}

/// The penalty's gradient, which is added to the weight's.
inline float penalty_gradient(task const& task, float w) {
  auto const& what = task.what.as<update_task>();
  auto const l1 = static_cast<float>(what.l1), twice_l2 = 2 * static_cast<float>(what.l2);
  if (l1 == 0 && twice_l2 == 0) return 0;
  return twice_l2 * w + (w > 0 ? l1 : w < 0 ? -l1 : 0.0F);
}

/// The numbers that an optimizer's step reads at every element; `operands` of a tile end with norms.
inline auto given_everywhere(task const& task, step_values const& values, std::vector<tile_view> const& operands) {
  std::array<double, update_tracer::first_norm + std::size(step_values{}.norms)> given{
      static_cast<double>(values.learning_rate), static_cast<double>(values.update),
      static_cast<double>(values.loss_scale)};
  static_assert(std::size(step_values{}.norms) == update_tracer::most_norms);
  for (std::size_t i = 0; i < update_tracer::most_norms; ++i)
    given[update_tracer::first_norm + i] = static_cast<double>(values.norms[i]);
  int const first = weight_operands(task);
  for (int i = first; i < task.input_count; ++i)
    given[task.what.as<update_task>().number_of_norm[i - first]] = static_cast<double>(operands[i][0]);
  return given;
}

/// An optimizer's step on a tile's piece of a weight. `operands`: the weight, its gradient, its slots, norms.
inline void run_optimizer(task const& task, step_values const& values, std::vector<tile_view> operands) {
  formula_codelet const codelet(*task.formula, given_everywhere(task, values, operands));
  operands.resize(weight_operands(task));
  std::vector<tile_view> results = operands;
  results.erase(results.begin() + 1);
  codelet.run(
      operands.size(), [&](std::size_t i, std::int64_t k) { return operands[i][k]; }, results,
      [&](auto& numbers, std::size_t count) {
        for (std::size_t k = 0; k < count; ++k) numbers[1][k] += penalty_gradient(task, numbers[0][k]);
      });
}

inline float penalty_of(task const& task, tile_view const& weight) {
  double l1 = 0, l2 = 0;
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    l1 += static_cast<double>(std::fabs(weight[i]));
    l2 += static_cast<double>(weight[i]) * static_cast<double>(weight[i]);
  }
  auto const& what = task.what.as<update_task>();
  return static_cast<float>(what.l1 * l1 + what.l2 * l2);
}
/// The sum of squares of what the formula makes of a tile's piece; `room` for it, unless it is an operand.
inline float squares_of(tile_machine& machine, task const& task, int tile, std::vector<tile_view> const& operands,
                        tile_view const& room) {
  bool const is_operand = is_norm_of_operand(task);
  auto const& of = is_operand ? operands[task.formula->steps[task.formula->results[0]].index] : room;
  if (!is_operand)
    formula_codelet(*task.formula, given_everywhere(task, machine.values(), operands))
        .run(weight_operands(task), [&](std::size_t i, std::int64_t k) { return operands[i][k]; }, std::vector{of});
  auto const first = machine.mapping(task.inputs[0]).first(tile);
  double sum = 0;
  for (std::int64_t i = 0; i < of.size(); ++i)
    if (machine.element_at(task.inputs[0], first + i) >= 0)
      sum += static_cast<double>(of[i]) * static_cast<double>(of[i]);
  return static_cast<float>(sum);
}
/// The mean over the valid samples of a piece that begins with element `first`, or zeros after the valid samples.
inline void valid_samples_of(task const& task, step_values const& values, bool is_mean, std::int64_t first,
                             tile_view const& from, tile_view const& to) {
  std::int64_t const count = task.what.as<update_task>().values_per_sample * values.valid_samples;
  for (auto i = is_mean ? 0 : larger(0, smaller(count - first, from.size())); i < from.size(); ++i)
    to.set(i, is_mean ? from[i] * (1.0F / static_cast<float>(count)) : 0.0F);
}

inline void run(tile_machine& machine, task const& task, update_task const& what) {
  auto const function = what.function;
  auto const& step = machine.step();
  auto const mapping = machine.mapping(task.inputs[0]);
  int const tiles = mapping.tiles_used();
  std::vector<std::vector<tile_view>> operands(tiles);
  for (int tile = 0; tile < tiles; ++tile)
    for (int i = 0; i < task.input_count; ++i) {
      auto& own = operands[tile];
      if (i >= weight_operands(task)) {
        own.push_back(machine.allocate(tile, 1, dtype::float32));
        machine.receive(own.back(), 0, task.inputs[i], 0, 1);
        continue;
      }
      if (update_reads_own_piece(step, task, i, machine.target())) {
        own.push_back(machine.home(task.inputs[i], tile));
        continue;
      }
      own.push_back(machine.allocate(tile, mapping.elements_of(tile), step.input_of(task, i).type));
      machine.receive(own.back(), 0, task.inputs[i], mapping.first(tile), mapping.elements_of(tile));
    }
  machine.end_exchange();
  bool const is_norm = function == update_function::norm, gives_sum = is_norm || function == update_function::penalty;
  auto const sums = machine.allocate_on(gives_sum ? tiles : 0, dtype::float32, [](int) { return 1; });
  auto const rooms = machine.allocate_on(is_norm && !is_norm_of_operand(task) ? tiles : 0, dtype::float32,
                                         [&](int tile) { return mapping.elements_of(tile); });
  constexpr char const* names[]{"Update", "Penalty", "Norm", "Update", "Multiply", "Fill"};
  machine.compute_set(
      names[static_cast<int>(function)], tiles,
      [&](int tile) { return update_work(step, task, mapping.elements_of(tile), machine.target()); },
      [&](int tile) {
        auto const& own = operands[tile];
        switch (function) {
          case update_function::optimizer: return run_optimizer(task, machine.values(), own);
          case update_function::penalty: return sums[tile].set(0, penalty_of(task, own[0]));
          case update_function::norm:
            return sums[tile].set(0, squares_of(machine, task, tile, own, rooms.empty() ? tile_view() : rooms[tile]));
          case update_function::move_statistic:
            for (std::int64_t i = 0; i < own[0].size(); ++i)
              own[0].set(i, moved_statistic(task, machine.values(), own[0][i], own[1][i]));
            return;
          default:
            return valid_samples_of(task, machine.values(), function == update_function::valid_mean,
                                    mapping.first(tile), own[0], machine.home(task.outputs[0], tile));
        }
      });
  if (gives_sum)
    add_up_tiles(machine, task, sums, added_sums(task, tiles, machine.target()), is_norm && what.is_square == 0);
}

}  // namespace stagecraft::tiles
