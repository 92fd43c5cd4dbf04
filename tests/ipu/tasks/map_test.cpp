// SPDX-License-Identifier: BSD-3-Clause
// What elementwise operations cost, against numbers that were worked out by hand from the vertices' estimates.
#include <stagecraft/ipu/tasks/map.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstdint>
#include <doctest/doctest.h>

namespace {

namespace sc = stagecraft;
using sc::dtype;
using sc::tiles::map_function;
using sc::tiles::tensor_role;

constexpr sc::ipu_target target = [] {
  auto result = sc::ipu_targets::ipu2;
  result.tiles_per_ipu = 8;
  return result;
}();

/// 96 elements: 12 on each tile, 2 for each worker.
struct elements {
  dtype type = dtype::float32;
  std::int64_t count = 96;
  dtype other = dtype::float32;
};

/// Of one operation on a tensor and another, or, with `inner` and `values`, on a tensor and a smaller one. `numbers`:
/// bit i: operand i is the number 0.
constexpr sc::tiles::operation_cost cost(map_function function, elements const& of, int operands, bool in_place = false,
                                         std::int64_t inner = 1, std::int64_t values = 0, float scalar = 0,
                                         std::int64_t numbers = 0) {
  sc::tiles::lowered_step step;
  int const a = step.tensor(tensor_role::input, 0, of.type, of.count);
  int const b = step.tensor(tensor_role::input, 1, of.other, values == 0 ? of.count : values);
  int const y = in_place ? a : step.tensor(tensor_role::output, 0, of.type, of.count);
  auto& task = sc::tiles::append_map(step, function, y, {{a}, {b, {inner, values}}}, {scalar});
  task.input_count = operands;
  task.what.as<sc::tiles::map_task>().numbers = numbers;
  return sc::tiles::cost_of(step, task, target);
}

constexpr sc::tiles::operation_cost compute(std::int64_t cycles, std::int64_t flops) {
  return {.compute_cycles = cycles, .flops = flops, .compute_sets = 1};
}
constexpr sc::tiles::operation_cost with_exchange(sc::tiles::operation_cost result, std::int64_t bytes,
                                                  std::int64_t rounded) {
  result.exchange_cycles = (bytes + 3) / 4;
  result.sync_cycles = 126;
  result.bytes_exchanged = bytes;
  result.exchanges = 1;
  result.temporary_bytes = rounded;
  return result;
}

// A worker's overhead and a loop of one vector, in 3 cycles; the supervisor's 11.
static_assert(cost(map_function::add, {}, 2) == compute(6 * (29 + 3) + 11, 96));
static_assert(cost(map_function::add, {}, 2, true) == compute(6 * (58 + 3) + 11, 96));
// 12 halves are as many vectors for 6 workers as 24.
static_assert(cost(map_function::multiply, {dtype::float16, 96, dtype::float16}, 2) == compute(6 * (26 + 3) + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::divide), {}, 2) ==
              compute(6 * (29 + 10) + 11, 96));
static_assert(cost(map_function::multiply, {}, 1, false, 1, 0, 0, 0b10) == compute(6 * (20 + 2) + 11, 96));
// A turn of the loop takes 10 cycles for 2 elements.
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::sqrt), {}, 1) ==
              compute(6 * (17 + 10) + 9 + 11, 96));
// A vector of two in 2 and 18 cycles and 4 for the loop, one and a half of them for three; atan is atan2 with the
// number 1.
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::round), {}, 1) ==
              compute(6 * (17 + 6 * 3 / 2) + 9 + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::log1p), {}, 1) ==
              compute(6 * (17 + 22 * 3 / 2) + 9 + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::atan), {}, 1) ==
              compute(6 * (20 + 272) + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::remainder), {}, 2) ==
              compute(6 * (29 + 133) + 11, 3 * 96));
static_assert(cost(map_function::copy, {}, 1) == compute(12 * 4 / 8, 0));
static_assert(cost(map_function::fill, {}, 0) == compute(6 * (23 + 1), 0));
// A comparison with a number, in a turn of 12 cycles for 4 elements; a number as divisor is a factor; of a choice
// between a tensor and another number, a product and a sum, but a product alone if that number is 0.
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::less), {}, 1) ==
              compute(6 * (20 + 12) + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::select), {}, 2) ==
              compute(6 * (29 + 3) + 11 + 6 * (20 + 2) + 11, 2 * 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::select), {}, 2, false, 1, 0, 0, 0b100) ==
              compute(6 * (29 + 3) + 11, 96));
static_assert(cost(sc::tiles::map_function_of(sc::operations::function::divide), {}, 1, false, 1, 0, 0, 0b10) ==
              cost(map_function::multiply, {}, 1, false, 1, 0, 0, 0b10));
// A bias of 4 values: 16 bytes arrive. Written out element by element it is added faster than row by row.
static_assert(cost(map_function::add, {}, 2, false, 1, 4) == with_exchange(compute(6 + 6 * (29 + 3) + 11, 96), 16, 16));
// A value for each tile's 12 elements is a scalar.
static_assert(cost(map_function::add, {}, 2, false, 12, 8) == with_exchange(compute(6 * (20 + 2) + 11, 96), 4, 8));
// Runs of 5 that begin anywhere: a tile's 12 elements read up to 4.
static_assert(cost(map_function::add, {.count = 90}, 2, false, 5, 18).bytes_exchanged == 16);
// Half of a pair of pieces.
static_assert(cost(map_function::add, {}, 2, false, 24, 4).bytes_exchanged == 4);

// Pieces of 12 for both types: nothing to receive. 14 float32, but 16 float16: all that is needed is received.
constexpr elements mixed{.type = dtype::float32, .count = 96, .other = dtype::float16};
static_assert(cost(map_function::accumulate, mixed, 2, true) ==
              compute(21 + 11 + 7 + 12 + 6 + 6 * (15 + 6 + 2 + 1 + 1), 2 * 96));
static_assert(cost(map_function::accumulate, {dtype::float32, 100, dtype::float16}, 2, true).bytes_exchanged == 28);
static_assert(cost(map_function::accumulate, mixed, 2, true, 1, 0, 1) ==
              compute(21 + 11 + 7 + 12 + 6 + 12 + 6 * (16 + 6 + 1 + 1), 3 * 96));

// The longest tile is not always one with a whole piece: here the last one has 1 element in place of 2.
static_assert(cost(map_function::scaled_add, {.count = 15}, 2, true).compute_cycles >
              cost(map_function::scaled_add, {.count = 16}, 2, true).compute_cycles);

constexpr sc::tiles::operation_cost cost_of_cast() {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, dtype::float16, 96);
  int const y = step.tensor(tensor_role::output, 0, dtype::float32, 96);
  sc::tiles::append_map(step, map_function::copy, y, {{x}});
  return sc::tiles::cost_of(step, step.tasks[0], target);
}
// 2 elements of each worker at once, and the question whether one is left over.
static_assert(cost_of_cast() == compute(12 + 6 * (18 + 19 + 1 + 1), 96));

constexpr sc::tiles::operation_cost cost_of_activation(sc::activation const& function, bool gradient) {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, dtype::float32, 96);
  int const y = step.tensor(tensor_role::output, 0, dtype::float32, 96);
  if (gradient)
    sc::tiles::append_activation_gradient_map(step, function, x, x, y);
  else
    sc::tiles::append_activation_map(step, function, x, y);
  return sc::tiles::cost_of(step, step.tasks[0], target);
}
static_assert(cost_of_activation(sc::sigmoid, false) == compute(9 + 6 * (20 + 2 + 5 + 1 + 5 + 3), 96));
static_assert(cost_of_activation(sc::relu, false) == compute(9 + 6 * (20 + 2 + 1 + 1 + 1 + 3), 96));
static_assert(cost_of_activation(sc::relu, true) == compute(9 + 6 * (20 + 5 + 4), 96));
static_assert(cost_of_activation(sc::linear, false) == compute(6, 0));
// |x|, 1 + |x|, x / (1 + |x|): a single element's loop of 1 + 4 cycles for each of 2; a scalar; a division.
static_assert(cost_of_activation(sc::softsign, false) ==
              compute((6 * (17 + 2 * 5) + 20) + (6 * (20 + 2) + 11) + (6 * (29 + 10) + 11), 3 * 96));

constexpr sc::tiles::operation_cost cost_of_dropout(std::int64_t positions, std::int64_t channels) {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, dtype::float32, 96);
  int const y = step.tensor(tensor_role::output, 0, dtype::float32, 96);
  sc::tiles::append_dropout(step, x, y, 0.5F, 0, false, positions, channels);
  return sc::tiles::cost_of(step, step.tasks[0], target);
}
// Two cycles for a worker's vector of random numbers, and a product.
static_assert(cost_of_dropout(0, 0) == compute(6 * 2 + 6 * (20 + 2) + 11, 96));
// A tile has parts of 2 samples at most, so up to 6 numbers, and a factor for each of its elements.
static_assert(cost_of_dropout(4, 3) == compute(6 * 2 + 6 + 6 * (29 + 3) + 11, 96));

TEST_CASE("in place, the result is an operand") {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, dtype::float32, 96);
  auto& task = sc::tiles::append_map(step, map_function::add, x, {{x}, {x}});
  CHECK(sc::tiles::cost_of(step, task, target) == cost(map_function::add, {}, 2, true));
}

}  // namespace
