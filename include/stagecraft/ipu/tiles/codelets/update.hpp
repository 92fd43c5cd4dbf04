// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: ipu/tasks/update.hpp.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <stagecraft/ipu/tiles/codelets/formula.hpp>
#include <stagecraft/ipu/tiles/codelets/task_runner.hpp>
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
    l1 += std::fabs(weight[i]);
    l2 += double{weight[i]} * double{weight[i]};
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
    if (machine.element_at(task.inputs[0], first + i) >= 0) sum += double{of[i]} * double{of[i]};
  return static_cast<float>(sum);
}
/// The mean over the valid samples of a piece that begins with element `first`, or zeros after the valid samples.
inline void valid_samples_of(task const& task, step_values const& values, bool is_mean, std::int64_t first,
                             tile_view const& from, tile_view const& to) {
  std::int64_t const count = task.what.as<update_task>().values_per_sample * values.valid_samples;
  for (auto i = is_mean ? 0 : larger(0, smaller(count - first, from.size())); i < from.size(); ++i)
    to.set(i, is_mean ? from[i] * (1.0F / static_cast<float>(count)) : 0.0F);
}

/// What a tile does with its operands. A penalty or norm is written to `sums`; `values` has room for what a norm is
/// taken of, unless that is an operand.
inline void run_update(tile_machine& machine, task const& task, int tile,
                       task_runner::memory const (&operands)[task::most_inputs], task_runner::memory const& sums,
                       task_runner::memory const& values) {
  std::vector<tile_view> own;
  for (int i = 0; i < task.input_count; ++i) own.push_back(operands[i][tile]);
  auto const function = task.what.as<update_task>().function;
  switch (function) {
    case update_function::optimizer: return run_optimizer(task, machine.values(), own);
    case update_function::penalty: return sums[tile].set(0, penalty_of(task, own[0]));
    case update_function::norm:
      return sums[tile].set(0, squares_of(machine, task, tile, own, values.empty() ? tile_view() : values[tile]));
    case update_function::move_statistic:
      for (std::int64_t i = 0; i < own[0].size(); ++i)
        own[0].set(i, moved_statistic(task, machine.values(), own[0][i], own[1][i]));
      return;
    default:
      return valid_samples_of(task, machine.values(), function == update_function::valid_mean,
                              machine.mapping(task.inputs[0]).first(tile), own[0], machine.home(task.outputs[0], tile));
  }
}

inline void run(tile_machine& machine, task const& task, update_task const& what) {
  task_runner on(machine, task);
  walk(on, what);
}

}  // namespace stagecraft::tiles
