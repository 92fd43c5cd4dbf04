// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations on the tiles where their results lie: popops' maps, popnn's non-linearities, poprand's
// dropout.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/map_cost.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/map_function.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// A tensor and which of its elements are read. With a count of 0, element e itself, which lies on the same tile if
/// both are mapped alike, and is received otherwise, as is all that has a count.
struct map_operand {
  int tensor = 0;
  map_operation::reading read{};
};
/// `result` may be one of the operands whose count is 0. Operands of another type than the result's are converted.
constexpr tile_operation& append_map(lowered_step& step, map_function function, int result,
                                     std::initializer_list<map_operand> operands,
                                     std::initializer_list<float> scalars = {}) {
  tile_operation& operation = step.add(map_operation{.function = function}, {}, {result});
  auto& what = operation.what.as<map_operation>();
  for (map_operand const& operand : operands) {
    what.reads[operation.input_count] = operand.read;
    operation.inputs[operation.input_count++] = operand.tensor;
  }
  int count = 0;
  for (float const scalar : scalars) what.scalars[count++] = scalar;
  return operation;
}

constexpr void set_activation(tile_operation& operation, activation const& function) {
  auto& what = operation.what.as<map_operation>();
  what.activation = static_cast<std::int64_t>(function.kind);
  what.scalars[0] = function.alpha;
  what.scalars[1] = function.max_value;
  what.scalars[2] = function.threshold;
}

/// y = f(x) for an elementwise activation; y may be x. One of the user's own has a formula.
constexpr void append_activation_map(lowered_step& step, activation const& function, int x, int y,
                                     operations::formula_view const* formula = nullptr) {
  auto& operation = append_map(step, map_function::activation, y, {{x}});
  set_activation(operation, function);
  operation.formula = formula;
}
/// dx = f' dy, where f' follows from the input of f if function.gradient_needs_input(), else from its output. dx may be
/// dy. A formula is given dy and x.
constexpr void append_activation_gradient_map(lowered_step& step, activation const& function, int dy, int x_or_y,
                                              int dx, operations::formula_view const* formula = nullptr) {
  auto& operation = append_map(step, map_function::activation_gradient, dx, {{dy}, {x_or_y}});
  set_activation(operation, function);
  operation.formula = formula;
}

/// y = x / (1 - rate) or 0, at random: the same numbers as the host draws. With `channels`, one number decides about
/// all `positions` of a channel in a sample. A seed of 0 is the trainer's.
constexpr void append_dropout(lowered_step& step, int x, int y, float rate, std::uint64_t seed, bool gradient = false,
                              std::int64_t positions = 0, std::int64_t channels = 0) {
  auto const function = gradient ? map_function::dropout_gradient : map_function::dropout;
  auto& what = append_map(step, function, y, {{x}}, {rate}).what.as<map_operation>();
  what.seed = seed;
  what.positions = positions;
  what.channels = channels;
}

/// A formula of operands at each place, and of a random number from [0, 1) behind them if it `draws`. A seed of 0 is
/// the trainer's.
constexpr tile_operation& append_formula(lowered_step& step, operations::formula_view const& formula, int result,
                                         std::initializer_list<map_operand> operands, bool draws = false,
                                         std::uint64_t seed = 0) {
  tile_operation& operation = append_map(step, map_function::formula, result, operands);
  operation.formula = &formula;
  operation.what.as<map_operation>().draws = draws ? 1 : 0;
  operation.what.as<map_operation>().seed = seed;
  return operation;
}

/// The numbers that a `call` draws: `first` is the number of the first of them in the sequence of the call. A seed of 0
/// is the trainer's.
constexpr void append_random(lowered_step& step, map_function function, int result, std::uint64_t first,
                             std::uint64_t seed = 0) {
  auto& what = append_map(step, function, result, {}).what.as<map_operation>();
  what.first_random = first;
  what.seed = seed;
}
/// Element e is (e / inner) % count.
constexpr void append_iota(lowered_step& step, int result, std::int64_t inner, std::int64_t count) {
  auto& what = append_map(step, map_function::iota, result, {}).what.as<map_operation>();
  what.iota_inner = inner;
  what.iota_count = count;
}

/// Adds a micro-batch's gradient to an accumulator, which counts as 0 before the first of a weight update. As a running
/// mean, the accumulator is scaled to n / (n + 1) first, where n is the number of micro-batches before.
constexpr void append_accumulate(lowered_step& step, int accumulator, int gradient, bool running_mean = false) {
  append_map(step, map_function::accumulate, accumulator, {{accumulator}, {gradient}}, {running_mean ? 1.0F : 0.0F});
}

}  // namespace stagecraft::tiles
