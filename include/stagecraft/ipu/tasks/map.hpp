// SPDX-License-Identifier: BSD-3-Clause
// Elementwise tasks on the tiles where their results lie: popops' maps, popnn's non-linearities, poprand's dropout.
// They cost one exchange for the operands that lie elsewhere, and one compute set.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/task_work.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/formula_work.hpp>
#include <stagecraft/ipu/vertices/map_work.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

[[nodiscard]] constexpr activation activation_of(map_task const& what) noexcept {
  return activation::of(static_cast<activation_kind>(what.activation), static_cast<float>(what.scalars[0]),
                        static_cast<float>(what.scalars[1]), static_cast<float>(what.scalars[2]));
}
/// A channel's random numbers and the products with them, or an element's.
constexpr void add_dropout(map_work& work, map_task const& what, bool in_place) noexcept {
  std::int64_t const channels = what.channels;
  if (channels == 0) {
    work.random(work.elements);
    return work.scalar(vertices::binary_operation::multiply, in_place);
  }
  map_read const mask{work.type, 1, channels, 1, false};
  std::int64_t const samples = 1 + ceil_div(work.elements - 1, channels * what.positions);
  work.random(smaller(work.elements, samples * channels));
  work.binary(vertices::binary_operation::multiply, mask, in_place);
}

/// A function of tensors and numbers: `reads` are those of the tensors. A tensor that is read in some way is not the
/// one that the vertex goes through, if there is another. popops' Select has no estimate of its own: a product with 1
/// or 0, and a sum if neither side is 0. To divide by a number is to multiply by its reciprocal.
constexpr void add_operation(map_work& work, map_task const& what, operations::function apply, map_read const* reads,
                             int count, bool in_place) noexcept {
  auto const is_number = [&](int operand) { return (what.numbers >> operand & 1) != 0; };
  auto const is_zero = [&](int operand) { return is_number(operand) && what.scalars[operand] == 0; };
  if (operations::arity(apply) == 1) {
    work.expand(reads[0]);
    if (apply == operations::function::atan) return work.scalar(binary_of(apply), in_place || reads[0].count != 0);
    work.unary(unary_of(apply), in_place || reads[0].count != 0);
    if (apply == operations::function::softplus) work.unary(vertices::unary_operation::exponent);
    return;
  }
  bool const is_select = apply == operations::function::select;
  bool const is_product = is_select || (apply == operations::function::divide && is_number(1));
  auto const first = is_product ? vertices::binary_operation::multiply : binary_of(apply);
  int const whole = count > 1 && reads[0].count != 0 && reads[1].count == 0 ? 1 : 0;
  work.expand(reads[whole]);
  in_place = (in_place && whole == 0) || reads[whole].count != 0 || reads[whole].type != work.type;
  if (count > 1)
    work.binary(first, reads[1 - whole], in_place);
  else
    work.scalar(first, in_place);
  if (!is_select || is_zero(1) || is_zero(2)) return;
  if (count > 2)
    work.binary(vertices::binary_operation::add, reads[2], true);
  else
    work.scalar(vertices::binary_operation::add);
}

/// A function of int32. A conversion is popops' Cast; other functions cost what float32's cost, and those that float32
/// does not have, such as shifts, as an addition.
constexpr void add_whole(map_work& work, map_task const& what, map_read const* reads, int count) noexcept {
  using enum operations::whole_function;
  if (count == 0) return work.fill();
  work.expand(reads[0]);
  auto const apply = static_cast<operations::whole_function>(static_cast<int>(what.scalars[0]));
  switch (apply) {
    case from_float:
    case bits_of_float: return work.add(vertices::cast{dtype::float32, dtype::int32, work.elements});
    case float_of_bits:
    case to_float:
    case to_bool:
    case to_uint8:
    case to_int8: return work.add(vertices::cast{dtype::int32, dtype::float32, work.elements});
    case negative:
    case bitwise_not: return work.unary(vertices::unary_operation::negate, false);
    case absolute: return work.unary(vertices::unary_operation::absolute, false);
    case sign: return work.unary(vertices::unary_operation::signum, false);
    default: break;
  }
  auto const operation = [&] {
    using operations::function;
    switch (apply) {
      case subtract: return binary_of(function::subtract);
      case multiply: return binary_of(function::multiply);
      case divide:
      case floor_divide: return binary_of(function::divide);
      case remainder:
      case modulo: return binary_of(function::remainder);
      case power: return binary_of(function::power);
      case maximum: return binary_of(function::maximum);
      case minimum: return binary_of(function::minimum);
      case less: return binary_of(function::less);
      case less_equal: return binary_of(function::less_equal);
      case equal: return binary_of(function::equal);
      default: return binary_of(function::add);
    }
  }();
  work.binary(operation, reads[1], false);
}

/// A formula; operands that are repeated are written out first.
constexpr void add_formula(map_work& work, task const& task, map_read const* reads) {
  dtype types[task::most_inputs + 1]{};
  for (int i = 0; i < task.input_count; ++i) {
    types[i] = reads[i].count == 0 ? reads[i].type : work.type;
    if (reads[i].count != 0) work.expand(reads[i]);
  }
  bool const in_place = task.inputs[0] == task.outputs[0];
  if (task.what.as<map_task>().draws != 0) {
    types[task.input_count] = work.type;
    work.random(work.elements);
  }
  auto const vertices = formula_vertices(*task.formula, types, work.elements, work.target, in_place).work;
  work.cycles += vertices.cycles;
  work.flops += vertices.flops;
}

/// The vertices of a tile with `elements` elements of the result.
[[nodiscard]] constexpr map_work map_work_of(lowered_step const& step, task const& task, ipu_target const& target,
                                             std::int64_t elements) {
  using enum vertices::binary_operation;
  map_work work{target, step.output_of(task).type, elements};
  map_read reads[task::most_inputs]{};
  int const count = task.input_count;
  for (int i = 0; i < count; ++i) reads[i] = read_of(step, task, i, target);
  bool const in_place = count > 0 && task.inputs[0] == task.outputs[0];
  auto const& what = task.what.as<map_task>();
  auto const function = what.function;
  if (task.formula != nullptr) {  // of an activation of one's own, too
    add_formula(work, task, reads);
    return work;
  }
  // The first operand as it is needed by functions that take the others in their own ways.
  auto const first = [&] {
    work.expand(reads[0]);
    return in_place || reads[0].count != 0 || reads[0].type != work.type;
  };
  if (is_operation(function)) {
    add_operation(work, what, function_in(function), reads, count, in_place);
    return work;
  }
  switch (function) {
    case map_function::copy:
      if (reads[0].count == 0)
        work.copy(reads[0].type);
      else
        work.expand(reads[0]);
      break;
    case map_function::iota:  // no vertex is published: as if it were filled
    case map_function::fill: work.fill(); break;
    case map_function::random_uniform: work.random(elements); break;
    case map_function::whole: add_whole(work, what, reads, count); break;
    case map_function::random_normal: work.random(2 * elements); break;
    case map_function::scaled_add:
      if (!first()) work.copy(work.type);
      if (reads[1].count != 0) work.expand(reads[1]);
      work.scaled_add(vertices::scaled_operation::add, reads[1].count != 0 ? work.type : reads[1].type);
      break;
    case map_function::multiply_add:
      work.binary(multiply, reads[1], first());
      work.binary(add, reads[2], true);
      break;
    case map_function::rsqrt:
      if (what.scalars[0] == 0)
        work.unary(vertices::unary_operation::rsqrt, first());
      else
        work.scalar(variance_to_inv_std_dev, first());
      break;
    case map_function::accumulate:
      work.scaled_add(what.scalars[0] != 0 ? vertices::scaled_operation::ax_plus_by : vertices::scaled_operation::add,
                      reads[1].type);
      break;
    case map_function::activation: add_activation(work, activation_of(what), first()); break;
    case map_function::activation_gradient:
      work.convert(reads[1]);
      add_activation_gradient(work, activation_of(what), first());
      break;
    case map_function::dropout:
    case map_function::dropout_gradient: add_dropout(work, what, first()); break;
    default: break;
  }
  return work;
}

/// Tile 0 receives most.
[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, map_task const&,
                                               ipu_target const& target) {
  auto const& result = step.output_of(task);
  tile_mapping const mapping{result, target};
  operation_cost cost;
  if (result.elements == 0) return cost;
  std::int64_t bytes = 0;
  for (int i = 0; i < task.input_count; ++i) {
    auto const received = read_of(step, task, i, target).received_bytes(mapping.elements_of(0));
    bytes += received;
    cost.temporary_bytes += rounded_bytes(received);
  }
  cost.add_exchange(target, bytes);
  add_compute_set(cost, {mapping.elements, mapping.elements_per_tile}, [&](std::int64_t elements) {
    auto const work = map_work_of(step, task, target, elements);
    return vertex_work{work.cycles, work.flops};
  });
  return cost;
}

/// A tensor and which of its elements are read. With a count of 0, element e itself, which lies on the same tile if
/// both are mapped alike, and is received otherwise, as is all that has a count.
struct map_operand {
  int tensor = 0;
  map_task::reading read{};
};
/// `result` may be one of the operands whose count is 0. Operands of another type than the result's are converted.
constexpr task& append_map(lowered_step& step, map_function function, int result,
                           std::initializer_list<map_operand> operands, std::initializer_list<float> scalars = {}) {
  task& task = step.add(map_task{.function = function}, {}, {result});
  auto& what = task.what.as<map_task>();
  for (map_operand const& operand : operands) {
    what.reads[task.input_count] = operand.read;
    task.inputs[task.input_count++] = operand.tensor;
  }
  int count = 0;
  for (float const scalar : scalars) what.scalars[count++] = static_cast<double>(scalar);
  return task;
}

constexpr void set_activation(task& task, activation const& function) {
  auto& what = task.what.as<map_task>();
  what.activation = static_cast<std::int64_t>(function.kind);
  what.scalars[0] = static_cast<double>(function.alpha);
  what.scalars[1] = static_cast<double>(function.max_value);
  what.scalars[2] = static_cast<double>(function.threshold);
}

/// y = f(x) for an elementwise activation; y may be x. One of the user's own has a formula.
constexpr void append_activation_map(lowered_step& step, activation const& function, int x, int y,
                                     operations::formula_view const* formula = nullptr) {
  auto& task = append_map(step, map_function::activation, y, {{x}});
  set_activation(task, function);
  task.formula = formula;
}
/// dx = f' dy, where f' follows from the input of f if function.gradient_needs_input(), else from its output. dx may be
/// dy. A formula is given dy and x.
constexpr void append_activation_gradient_map(lowered_step& step, activation const& function, int dy, int x_or_y,
                                              int dx, operations::formula_view const* formula = nullptr) {
  auto& task = append_map(step, map_function::activation_gradient, dx, {{dy}, {x_or_y}});
  set_activation(task, function);
  task.formula = formula;
}

/// y = x / (1 - rate) or 0, at random: the same numbers as the host draws. With `channels`, one number decides about
/// all `positions` of a channel in a sample. A seed of 0 is the trainer's.
constexpr void append_dropout(lowered_step& step, int x, int y, float rate, std::uint64_t seed, bool gradient = false,
                              std::int64_t positions = 0, std::int64_t channels = 0) {
  auto const function = gradient ? map_function::dropout_gradient : map_function::dropout;
  auto& what = append_map(step, function, y, {{x}}, {rate}).what.as<map_task>();
  what.seed = seed;
  what.positions = positions;
  what.channels = channels;
}

/// A formula of operands at each place, and of a random number from [0, 1) after them if it `draws`. A seed of 0 is
/// the trainer's.
constexpr task& append_formula(lowered_step& step, operations::formula_view const& formula, int result,
                               std::initializer_list<map_operand> operands, bool draws = false,
                               std::uint64_t seed = 0) {
  task& task = append_map(step, map_function::formula, result, operands);
  task.formula = &formula;
  task.what.as<map_task>().draws = draws ? 1 : 0;
  task.what.as<map_task>().seed = seed;
  return task;
}

/// The numbers that a `call` draws: `first` is the number of the first of them in the sequence of the call. A seed of 0
/// is the trainer's.
constexpr void append_random(lowered_step& step, map_function function, int result, std::uint64_t first,
                             std::uint64_t seed = 0) {
  auto& what = append_map(step, function, result, {}).what.as<map_task>();
  what.first_random = first;
  what.seed = seed;
}
/// Element e is (e / inner) % count.
constexpr void append_iota(lowered_step& step, int result, std::int64_t inner, std::int64_t count) {
  auto& what = append_map(step, map_function::iota, result, {}).what.as<map_task>();
  what.iota_inner = inner;
  what.iota_count = count;
}

/// Adds a micro-batch's gradient to an accumulator, which counts as 0 before the first of a weight update. As a running
/// mean, the accumulator is scaled to n / (n + 1) first, where n is the number of micro-batches before.
constexpr void append_accumulate(lowered_step& step, int accumulator, int gradient, bool running_mean = false) {
  append_map(step, map_function::accumulate, accumulator, {{accumulator}, {gradient}}, {running_mean ? 1.0F : 0.0F});
}

}  // namespace stagecraft::tiles
