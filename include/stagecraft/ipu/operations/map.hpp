// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations on the tiles where their results lie: popops' maps, popnn's non-linearities, poprand's
// dropout.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/operations/map_cost.hpp>
#include <stagecraft/ipu/operations/map_function.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// What element e of the result reads of an operand: element (e / inner) % count. With a count of 0, element e itself,
/// which lies on the same tile if both are mapped alike, and is received otherwise, as is all that has a count.
struct map_operand {
  int tensor = 0;
  std::int64_t inner = 1;
  std::int64_t count = 0;
};

/// `result` may be one of the operands whose count is 0. Operands of another type than the result's are converted.
constexpr tile_operation& append_map(lowered_step& step, map_function function, int result,
                                     std::initializer_list<map_operand> operands,
                                     std::initializer_list<float> scalars = {}) {
  tile_operation& operation = step.add(operation_kind::map, static_cast<int>(function), {}, {result});
  for (map_operand const& operand : operands) {
    operation.sizes[2 * operation.input_count] = operand.inner;
    operation.sizes[2 * operation.input_count + 1] = operand.count;
    operation.inputs[operation.input_count++] = operand.tensor;
  }
  int count = 0;
  for (float const scalar : scalars) operation.scalars[count++] = scalar;
  return operation;
}

}  // namespace stagecraft::tiles

namespace stagecraft::detail {

constexpr void set_activation(tile_operation& operation, activation const& function) {
  operation.sizes[map_activation_kind] = static_cast<std::int64_t>(function.kind);
  operation.scalars[0] = function.alpha;
  operation.scalars[1] = function.max_value;
  operation.scalars[2] = function.threshold;
}

}  // namespace stagecraft::detail

namespace stagecraft::tiles {

/// y = f(x) for an elementwise activation; y may be x. One of the user's own has a formula.
constexpr void append_activation_map(lowered_step& step, activation const& function, int x, int y,
                                     operations::formula_view const* formula = nullptr) {
  auto& operation = append_map(step, map_function::activation, y, {{x}});
  detail::set_activation(operation, function);
  operation.formula = formula;
}
/// dx = f' dy, where f' follows from the input of f if function.gradient_needs_input(), else from its output. dx may be
/// dy. A formula is given dy and x.
constexpr void append_activation_gradient_map(lowered_step& step, activation const& function, int dy, int x_or_y,
                                              int dx, operations::formula_view const* formula = nullptr) {
  auto& operation = append_map(step, map_function::activation_gradient, dx, {{dy}, {x_or_y}});
  detail::set_activation(operation, function);
  operation.formula = formula;
}

/// y = x / (1 - rate) or 0, at random: the same numbers as the host draws. With `channels`, one number decides about
/// all `positions` of a channel in a sample. A seed of 0 is the trainer's.
constexpr void append_dropout(lowered_step& step, int x, int y, float rate, std::uint64_t seed, bool gradient = false,
                              std::int64_t positions = 0, std::int64_t channels = 0) {
  auto const function = gradient ? map_function::dropout_gradient : map_function::dropout;
  tile_operation& operation = append_map(step, function, y, {{x}}, {rate});
  operation.sizes[detail::map_dropout_seed] = static_cast<std::int64_t>(seed);
  operation.sizes[detail::map_dropout_positions] = positions;
  operation.sizes[detail::map_dropout_channels] = channels;
}

/// A formula of operands at each place, and of a random number from [0, 1) behind them if it `draws`. A seed of 0 is
/// the trainer's.
constexpr tile_operation& append_formula(lowered_step& step, operations::formula_view const& formula, int result,
                                         std::initializer_list<map_operand> operands, bool draws = false,
                                         std::uint64_t seed = 0) {
  tile_operation& operation = append_map(step, map_function::formula, result, operands);
  operation.formula = &formula;
  operation.sizes[detail::map_draws] = draws ? 1 : 0;
  operation.sizes[detail::map_dropout_seed] = static_cast<std::int64_t>(seed);
  return operation;
}

/// The numbers that a `call` draws: `first` is the number of the first of them in the sequence of the call. A seed of 0
/// is the trainer's.
constexpr void append_random(lowered_step& step, map_function function, int result, std::uint64_t first,
                             std::uint64_t seed = 0) {
  auto& operation = append_map(step, function, result, {});
  operation.sizes[detail::map_random_first] = static_cast<std::int64_t>(first);
  operation.sizes[detail::map_dropout_seed] = static_cast<std::int64_t>(seed);
}
/// Element e is (e / inner) % count.
constexpr void append_iota(lowered_step& step, int result, std::int64_t inner, std::int64_t count) {
  auto& operation = append_map(step, map_function::iota, result, {});
  operation.sizes[detail::map_iota_inner] = inner;
  operation.sizes[detail::map_iota_count] = count;
}

/// Adds a micro-batch's gradient to an accumulator, which counts as 0 before the first of a weight update. As a running
/// mean, the accumulator is scaled to n / (n + 1) first, where n is the number of micro-batches before.
constexpr void append_accumulate(lowered_step& step, int accumulator, int gradient, bool running_mean = false) {
  append_map(step, map_function::accumulate, accumulator, {{accumulator}, {gradient}}, {running_mean ? 1.0F : 0.0F});
}

}  // namespace stagecraft::tiles
