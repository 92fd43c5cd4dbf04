// SPDX-License-Identifier: BSD-3-Clause
// Functions of whole rows on the tiles of an emulated IPU (ipu/tasks/rows.hpp): softmax, and the losses of rows with
// their gradients, which the loss's `call` says.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/ipu/tasks/rows.hpp>
#include <stagecraft/ipu/tiles/codelets/sum_of_tiles.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// One row of predictions, which becomes the gradient if that is wanted, and of targets.
struct loss_row_view {
  tile_view const& prediction;
  tile_view const& target;
  std::int64_t row;
  std::int64_t columns;
  std::int64_t target_columns;

  [[nodiscard]] float p(std::int64_t column) const { return prediction[row * columns + column]; }
  [[nodiscard]] float t(std::int64_t column) const { return target[row * target_columns + column]; }
  void set_gradient(std::int64_t column, float value) const { prediction.set(row * columns + column, value); }
};

/// Computes losses of rows, one after the other: carries out the formula or the plan of the loss's `call`, as the host
/// does.
class row_losses {
 public:
  row_losses(loss_rule const& rule, std::int64_t columns, bool with_gradient)
      : rule_(rule),
        with_gradient_(with_gradient),
        memory_(rule.plan == nullptr ? 0 : traced_loss_row<>::floats(*rule.plan)) {
    numbers_.resize(3 * columns);
    if (rule.plan != nullptr) addresses_.resize(rule.plan->nodes.size());
  }

  /// The loss of a row without its scale; the gradient is scaled.
  float evaluate(loss_row_view const& row, float scale) {
    float *const target = numbers_.data(), *const prediction = target + row.columns;
    for (std::int64_t c = 0; c < row.target_columns; ++c) target[c] = row.t(c);
    for (std::int64_t c = 0; c < row.columns; ++c) prediction[c] = row.p(c);
    float const loss = rule_.formula != nullptr
                           ? mean_of_places(target, prediction, row.columns, scale)
                           : traced_loss_row<>(*rule_.plan, memory_.data(), addresses_)
                                 .evaluate(target, prediction, scale, with_gradient_ ? prediction : nullptr);
    for (std::int64_t c = 0; with_gradient_ && c < row.columns; ++c) row.set_gradient(c, prediction[c]);
    return loss;
  }

 private:
  float mean_of_places(float* target, float* prediction, std::int64_t columns, float scale) {
    std::array<float, operations::formula_view::most_steps> constants{};
    kernels::formula_constants(*rule_.formula, {}, constants);
    float* const values = prediction + columns;
    std::array<float const*, 2> const given{target, prediction};
    std::array<float*, 2> const results{values, prediction};
    kernels::formula_places(*rule_.formula, constants, given,
                            tracing::array_view<float* const>(results).first(with_gradient_ ? 2 : 1), columns);
    float const factor = scale / static_cast<float>(columns);
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      sum += static_cast<double>(values[c]);
      prediction[c] *= factor;
    }
    return static_cast<float>(sum) / static_cast<float>(columns);
  }

  loss_rule rule_;
  bool with_gradient_;
  std::vector<float> numbers_;  ///< a row's targets, predictions and losses
  std::vector<float*> addresses_;
  aligned_block memory_;
};

/// Whole rows of (outer, columns, inner), where row r is that of outer index r / inner and inner index r % inner, one
/// after the other in the memory of a tile. `move(at, first, count)` is called for each run of elements of the tensor
/// from `first` on.
template <class Move>
void for_runs_of_rows(std::int64_t first_row, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                      Move const& move) {
  if (inner == 1) return move(0, first_row * columns, rows * columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    auto const begin = (first_row + row) / inner * columns * inner + (first_row + row) % inner;
    for (std::int64_t c = 0; c < columns; ++c) move(row * columns + c, begin + c * inner, 1);
  }
}

inline void softmax_of_row(tile_view const& x, std::int64_t first, std::int64_t columns) {
  float largest = x[first];
  for (std::int64_t c = 1; c < columns; ++c)
    if (x[first + c] > largest) largest = x[first + c];
  double sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(std::exp(x[first + c] - largest));
  auto const inverse = static_cast<float>(1 / sum);
  for (std::int64_t c = 0; c < columns; ++c) x.set(first + c, std::exp(x[first + c] - largest) * inverse);
}

inline void softmax_gradient_of_row(tile_view const& dy, tile_view const& y, std::int64_t first, std::int64_t columns) {
  double sum = 0;
  for (std::int64_t c = 0; c < columns; ++c) sum += static_cast<double>(y[first + c] * dy[first + c]);
  auto const dot = static_cast<float>(sum);
  for (std::int64_t c = 0; c < columns; ++c) dy.set(first + c, y[first + c] * (dy[first + c] - dot));
}

/// The losses of a tile's rows, scaled and summed up. The rows from `valid_rows` on only fill the batch.
inline float losses_of_rows(task const& task, std::vector<tile_view> const& operands, std::int64_t rows,
                            std::int64_t valid_rows, step_values const& values) {
  auto const rule = loss_rule::of(task);
  auto const& what = task.what.as<row_task>();
  auto const columns = what.columns;
  bool const with_gradient = what.function == rows_function::loss_gradient;
  std::int64_t const target_columns = rule.plan != nullptr ? rule.plan->nodes[0].shape[-1] : columns;
  float factor = static_cast<float>(what.factor) * values.loss_scale;
  if (what.running_mean != 0) factor *= 1.0F / static_cast<float>(values.accumulated + 1);
  row_losses losses(rule, columns, with_gradient);
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    loss_row_view const view{operands[0], operands[1], row, columns, target_columns};
    float const scale = operands[2][row];
    if (row < valid_rows)
      sum += static_cast<double>(scale) * static_cast<double>(losses.evaluate(view, scale * factor));
    else
      for (std::int64_t c = 0; with_gradient && c < columns; ++c) view.set_gradient(c, 0);
  }
  return static_cast<float>(sum);
}

inline void run(tile_machine& machine, task const& task, row_task const& what) {
  auto const& step = machine.step();
  bool const is_loss = what.is_loss();
  auto const columns = what.columns, inner = what.inner;
  equal_shares const shares(what.rows(), machine.target());
  int const tiles = shares.tiles_used();
  std::vector<std::vector<tile_view>> copies(tiles);
  std::vector<tile_view> sums;
  for (int tile = 0; tile < tiles; ++tile) {
    for (int i = 0; i < task.input_count; ++i) {
      auto const width = row_elements(step, task, i);
      auto const copy = machine.allocate(tile, shares.of(tile) * width, step.input_of(task, i).type);
      for_runs_of_rows(shares.first(tile), shares.of(tile), width, inner,
                       [&](std::int64_t at, std::int64_t first, std::int64_t count) {
                         machine.receive(copy, at, task.inputs[i], first, count);
                       });
      copies[tile].push_back(copy);
    }
    if (auto const floats = floats_of_workers(task, shares.of(tile), machine.target()); floats > 0)
      static_cast<void>(machine.allocate(tile, floats, dtype::float32));
    if (is_loss) sums.push_back(machine.allocate(tile, 1, dtype::float32));
  }
  machine.end_exchange();

  machine.compute_set(
      is_loss ? "Loss" : "Softmax", tiles,
      [&](int tile) { return rows_work(step, task, shares.of(tile), machine.target()); },
      [&](int tile) {
        auto const& operands = copies[tile];
        auto const rows = shares.of(tile);
        if (is_loss) {
          // All rows count, unless the task says how many rows a sample has.
          auto const valid = what.rows_per_sample == 0
                                 ? rows
                                 : what.rows_per_sample * machine.values().valid_samples - shares.first(tile);
          return sums[tile].set(0, losses_of_rows(task, operands, rows, valid, machine.values()));
        }
        for (std::int64_t row = 0; row < rows; ++row)
          if (what.function == rows_function::softmax_of_rows)
            softmax_of_row(operands[0], row * columns, columns);
          else
            softmax_gradient_of_row(operands[0], operands[1], row * columns, columns);
      });
  for (int tile = 0; tile < tiles && what.function != rows_function::loss; ++tile)
    for_runs_of_rows(shares.first(tile), shares.of(tile), columns, inner,
                     [&](std::int64_t at, std::int64_t first, std::int64_t count) {
                       machine.send(copies[tile][0], at, task.outputs[is_loss ? 1 : 0], first, count);
                     });
  add_up_tiles(machine, task, sums, added_partials(tiles, machine.target()));
}

}  // namespace stagecraft::tiles
