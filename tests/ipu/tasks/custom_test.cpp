// SPDX-License-Identifier: BSD-3-Clause
// What a layer of a user's own costs.
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target two_tiles = [] {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = 2;
  return target;
}();

constexpr sc::tiles::operation_cost cost(dtype type) {
  sc::tiles::lowered_step step;
  sc::detail::named_tensors tensors;
  tensors.add_input(step.tensor(tensor_role::input, 0, type, 12));
  tensors.add_input(step.tensor(tensor_role::weight, 0, dtype::float32, 4));
  tensors.add_output(step.tensor(tensor_role::output, 0, type, 12));
  sc::detail::append_custom(step, sc::tiles::custom_function::forward, tensors, 100, 48);
  return cost_of(step, step.tasks[0], two_tiles);
}
// One worker of six works.
static_assert(cost(dtype::float32) == sc::tiles::operation_cost{.compute_cycles = 600,
                                                                .exchange_cycles = 16 + 6,
                                                                .sync_cycles = 2 * 126,
                                                                .flops = 48,
                                                                .bytes_exchanged = 64 + 24,
                                                                .exchanges = 2,
                                                                .compute_sets = 1,
                                                                .temporary_bytes = 48 + 16 + 48});
// Room for both types, and conversions of 12 elements, two for each worker: 12 + 6 * (18 + 19 + 1 + 1), and
// 12 + 6 * (18 + 19 + 3 + 1) back.
static_assert(cost(dtype::float16) == sc::tiles::operation_cost{.compute_cycles = 600 + 246 + 258,
                                                                .exchange_cycles = 10 + 4,
                                                                .sync_cycles = 2 * 126,
                                                                .flops = 48,
                                                                .bytes_exchanged = 40 + 16,
                                                                .exchanges = 2,
                                                                .compute_sets = 1,
                                                                .temporary_bytes = 24 + 48 + 16 + 24 + 48});

}  // namespace

TEST_CASE("tasks name all tensors, however many there are") {
  sc::tiles::lowered_step step;
  sc::detail::named_tensors tensors;
  constexpr int inputs = 2 * sc::tiles::task::most_inputs + 3, outputs = sc::tiles::task::most_outputs + 2;
  for (int i = 0; i < inputs; ++i) tensors.add_input(step.tensor(tensor_role::input, i, dtype::float32, 2));
  for (int i = 0; i < outputs; ++i) tensors.add_output(step.tensor(tensor_role::input_gradient, i, dtype::float32, 2));
  sc::detail::append_custom(step, sc::tiles::custom_function::backward, tensors, 10, 0);
  REQUIRE(step.task_count == 3);
  sc::tiles::operation_cost cost;
  bool named[inputs + outputs]{};
  for (int k = 0; k < step.task_count; ++k) {
    auto const& task = step.tasks[k];
    for (int i = 0; i < task.input_count; ++i) named[task.inputs[i]] = true;
    for (int i = 0; i < task.output_count; ++i) named[task.outputs[i]] = true;
    cost += cost_of(step, task, two_tiles);
  }
  for (bool const one : named) CHECK(one);
  CHECK(cost.bytes_exchanged == (inputs + outputs) * 8);
  CHECK(cost.compute_sets == 1);
  sc::detail::named_tensors const found(step, step.tasks[2]);
  CHECK(found.input_count == inputs);
  CHECK(found.output_count == outputs);
}
