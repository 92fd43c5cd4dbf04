// SPDX-License-Identifier: BSD-3-Clause
// Updates of weights on the tiles of an emulated IPU: ipu/operations/update.hpp. Level 5.
#pragma once

#include <stagecraft/execution/tiles/tile_machine.hpp>
#include <stagecraft/ipu/operations/update.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace stagecraft {

namespace detail {

/// What the optimizers do with one weight `w`, its gradient and its state: the formulas of kernels/update.hpp.
class update_codelet {
 public:
  update_codelet(tile_operation const& operation, step_values const& values)
      : operation_(operation), values_(values), rate_(values.learning_rate) {
    if (function() != update_function::adam) return;
    auto const power = [&](float beta) { return 1.0 - std::pow(double{beta}, static_cast<double>(values.update)); };
    corrected_rate_ = static_cast<float>(rate_ * std::sqrt(power(operation.scalars[1])) / power(operation.scalars[0]));
  }

  [[nodiscard]] update_function function() const { return static_cast<update_function>(operation_.function); }

  /// state[slot]; the gradient has the penalty's.
  void operator()(float& w, float g, float* state) const {
    switch (function()) {
      case update_function::sgd: return sgd(w, g, state);
      case update_function::rmsprop: return rmsprop(w, g, state);
      case update_function::adam: return adam(w, g, state);
      default: return move(w, g);
    }
  }
  [[nodiscard]] float penalty_gradient(float w) const {
    float const l1 = operation_.scalars[update_l1], twice_l2 = 2 * operation_.scalars[update_l2];
    if (l1 == 0 && twice_l2 == 0) return 0;
    return twice_l2 * w + (w > 0 ? l1 : w < 0 ? -l1 : 0.0F);
  }

 private:
  void sgd(float& w, float g, float* state) const {
    float const momentum = operation_.scalars[0];
    if (momentum == 0) {
      w -= rate_ * g;
      return;
    }
    state[0] = momentum * state[0] - rate_ * g;
    w += operation_.sizes[0] != 0 ? momentum * state[0] - rate_ * g : state[0];
  }
  void rmsprop(float& w, float g, float* state) const {
    float const momentum = operation_.scalars[1], epsilon = operation_.scalars[2];
    float const rest = 1.0F - operation_.scalars[0];
    state[0] += rest * (g * g - state[0]);
    float square = state[0];
    if (operation_.sizes[0] != 0) {
      float& mean = state[momentum != 0 ? 2 : 1];
      mean += rest * (g - mean);
      square -= mean * mean;
      if (square < 0) square = 0;
    }
    if (momentum != 0) {
      state[1] = momentum * state[1] + rate_ * g / std::sqrt(square + epsilon);
      w -= state[1];
    } else {
      w -= rate_ * g / (std::sqrt(square) + epsilon);
    }
  }
  void adam(float& w, float g, float* state) const {
    state[0] += (1.0F - operation_.scalars[0]) * (g - state[0]);
    state[1] += (1.0F - operation_.scalars[1]) * (g * g - state[1]);
    float square = state[1];
    if (operation_.sizes[0] != 0) {
      if (!(state[2] > square)) state[2] = square;
      square = state[2];
    }
    w -= corrected_rate_ * state[0] / (std::sqrt(square) + operation_.scalars[2]);
  }
  void move(float& moving, float statistic) const {
    float const momentum = operation_.scalars[0], rest = operation_.scalars[1];
    auto const n = static_cast<float>(values_.valid_samples) * static_cast<float>(operation_.sizes[1]);
    float const correction = operation_.sizes[0] != 0 && n > 1 ? n / (n - 1) : 1.0F;
    moving = statistic * (rest * correction) + moving * momentum;
  }

  tile_operation const& operation_;
  step_values const& values_;
  float rate_;
  float corrected_rate_ = 0;
};

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
  for (int tile = 0; tile < tiles; ++tile) machine.receive(all, tile, sums[static_cast<std::size_t>(tile)], 0, 1);
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
  detail::update_codelet const codelet(operation, machine.values());
  if (codelet.function() == update_function::penalty) return detail::run_penalty(machine, operation);
  if (codelet.function() == update_function::valid_mean || codelet.function() == update_function::clear_filling)
    return detail::run_of_valid_samples(machine, operation);
  auto const& step = machine.step();
  auto const mapping = machine.mapping(operation.inputs[0]);
  int const tiles = mapping.tiles_used();
  std::vector<std::vector<tile_view>> operands(static_cast<std::size_t>(tiles));
  for (int tile = 0; tile < tiles; ++tile)
    for (int i = 0; i < operation.input_count; ++i) {
      auto& own = operands[static_cast<std::size_t>(tile)];
      if (detail::update_reads_own_piece(step, operation, i, machine.target())) {
        own.push_back(machine.home(operation.inputs[i], tile));
        continue;
      }
      own.push_back(machine.allocate(tile, mapping.elements_of(tile), step.input_of(operation, i).type));
      machine.receive(own.back(), 0, operation.inputs[i], mapping.first(tile), mapping.elements_of(tile));
    }
  machine.end_exchange();

  for (int tile = 0; tile < tiles; ++tile) {
    auto const& own = operands[static_cast<std::size_t>(tile)];
    auto const work = detail::update_work(step, operation, mapping.elements_of(tile), machine.target());
    machine.count_flops(work.flops);
    machine.vertex("Update", tile, work.cycles, [&] {
      int const slots = operation.input_count - 2;
      float state[tile_operation::most_inputs]{};
      for (std::int64_t i = 0; i < own[0].size(); ++i) {
        float w = own[0][i];
        for (int slot = 0; slot < slots; ++slot) state[slot] = own[static_cast<std::size_t>(2 + slot)][i];
        codelet(w, own[1][i] + codelet.penalty_gradient(w), state);
        own[0].set(i, w);
        for (int slot = 0; slot < slots; ++slot) own[static_cast<std::size_t>(2 + slot)].set(i, state[slot]);
      }
    });
  }
  machine.end_compute_set();
}

}  // namespace stagecraft
