// SPDX-License-Identifier: BSD-3-Clause
// What updates of weights cost: the vertices' cycles worked out by hand.
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tasks/update.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target two_tiles = [] {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = 2;
  return target;
}();

template <auto Optimizer>
constexpr sc::tiles::operation_cost cost(sc::regularizer const& penalty = {}, dtype weight_type = dtype::float32,
                                         dtype gradient_type = dtype::float32) {
  sc::tiles::lowered_step step;
  int const weight = step.tensor(tensor_role::weight, 0, weight_type, 24);
  int const gradient = step.tensor(tensor_role::accumulator, 0, gradient_type, 24);
  int state[4]{};
  for (int i = 0; i < sc::detail::slots_of<Optimizer>; ++i)
    state[i] = step.tensor(tensor_role::optimizer_state, i, weight_type, 24);
  append_update(step, sc::detail::view_of_optimizer<Optimizer>, weight, gradient, state, penalty);
  return cost_of(step, step.tasks[0], two_tiles);
}

// On 12 elements of a tile, two for each worker:
constexpr int scaled_add = 57 + 6 * 25;  // 57 of the supervisor
constexpr int ax_plus_by = 57 + 12 + 6 * 24;
constexpr int square = 6 * (17 + 2) + 20;
constexpr int root = 6 * (17 + 10) + 20;
constexpr int sign = 6 * (17 + 13) + 20;
constexpr int add_number = 6 * (20 + 2) + 11;
constexpr int largest_of_number = 6 * (20 + 3) + 11;
constexpr int reciprocal_root = 6 * (20 + 12) + 11;
constexpr int binary = 6 * (58 + 3) + 11;
constexpr int largest = 6 * (58 + 4) + 11;
constexpr int divide = 6 * (58 + 10) + 11;

static_assert(cost<sc::optimizers::sgd{}>() ==
              sc::tiles::operation_cost{.compute_cycles = scaled_add, .flops = 2 * 24, .compute_sets = 1});
static_assert(cost<sc::optimizers::sgd{.momentum = 0.9F}>() ==
              sc::tiles::operation_cost{.compute_cycles = ax_plus_by + binary, .flops = 4 * 24, .compute_sets = 1});
static_assert(cost<sc::optimizers::sgd{.momentum = 0.9F, .nesterov = true}>().compute_cycles ==
              ax_plus_by + 2 * scaled_add);
static_assert(cost<sc::optimizers::adam{}>() ==
              sc::tiles::operation_cost{
                  .compute_cycles = 2 * ax_plus_by + square + root + add_number + divide + scaled_add,
                  .flops = 12 * 24,
                  .compute_sets = 1});
static_assert(cost<sc::optimizers::adam{.amsgrad = true}>().compute_cycles ==
              cost<sc::optimizers::adam{}>().compute_cycles + largest);
static_assert(cost<sc::optimizers::rmsprop{}>().compute_cycles ==
              square + ax_plus_by + root + add_number + divide + scaled_add);
static_assert(cost<sc::optimizers::rmsprop{.centered = true}>().compute_cycles ==
              cost<sc::optimizers::rmsprop{}>().compute_cycles + ax_plus_by + square + binary + largest_of_number);
static_assert(cost<sc::optimizers::rmsprop{.momentum = 0.9F}>().compute_cycles ==
              square + ax_plus_by + reciprocal_root + binary + ax_plus_by + binary);

// Penalties.
static_assert(cost<sc::optimizers::sgd{}>(sc::regularizers::l1_l2{0, 0.1F}).compute_cycles == 2 * scaled_add);
static_assert(cost<sc::optimizers::sgd{}>(sc::regularizers::l1_l2{0.1F, 0.1F}).compute_cycles == 3 * scaled_add + sign);

// A gradient of another type lies elsewhere: of 24 numbers, tile 0 has 12 in either type.
static_assert(cost<sc::optimizers::sgd{}>({}, dtype::float16).exchanges == 0);
constexpr sc::tiles::operation_cost of_26 = [] {
  sc::tiles::lowered_step step;
  int const weight = step.tensor(tensor_role::weight, 0, dtype::float16, 26);
  int const gradient = step.tensor(tensor_role::accumulator, 0, dtype::float32, 26);
  append_update(step, sc::detail::view_of_optimizer<sc::optimizers::sgd{}>, weight, gradient, nullptr);
  return cost_of(step, step.tasks[0], two_tiles);
}();
// 16 of 26 in float16, 14 in float32.
static_assert(of_26.exchanges == 1 && of_26.bytes_exchanged == 64 && of_26.temporary_bytes == 64);

constexpr sc::tiles::operation_cost penalty_cost = [] {
  sc::tiles::lowered_step step;
  int const weight = step.tensor(tensor_role::weight, 0, dtype::float32, 24);
  int const result = step.tensor(tensor_role::loss, 0, dtype::float32, 1);
  append_penalty(step, sc::regularizers::l1_l2{0, 0.1F}, weight, result);
  return cost_of(step, step.tasks[0], two_tiles);
}();
// Each worker reduces 2 elements, one what all have found: 6 * (3 + 6 + 1 + 5 + 2 + 3 + 22).
static_assert(penalty_cost == sc::tiles::operation_cost{.compute_cycles = 6 * 42 + 120,
                                                        .exchange_cycles = 2,
                                                        .sync_cycles = 126,
                                                        .flops = 2 * 11 * 2 + 1,
                                                        .bytes_exchanged = 8,
                                                        .exchanges = 1,
                                                        .compute_sets = 2,
                                                        .temporary_bytes = 8 + 8});

}  // namespace

TEST_CASE("a piece that ends in less than a vector may take longest") {
  // 2 and 1 elements: the one is worse.
  sc::tiles::lowered_step step;
  int const weight = step.tensor(tensor_role::weight, 0, dtype::float32, 3);
  int const gradient = step.tensor(tensor_role::accumulator, 0, dtype::float32, 3);
  append_update(step, sc::detail::view_of_optimizer<sc::optimizers::sgd{}>, weight, gradient, nullptr);
  auto const work = [&](std::int64_t elements) {
    return sc::detail::update_work(step, step.tasks[0], elements, two_tiles).cycles;
  };
  CHECK(work(1) > work(2));
  CHECK(cost_of(step, step.tasks[0], two_tiles).compute_cycles == work(1));
}
