// SPDX-License-Identifier: BSD-3-Clause
// What reductions cost, against numbers that were worked out by hand from the vertices' estimates.
#include <stagecraft/ipu/tasks/reduce.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstdint>
#include <doctest/doctest.h>

namespace {

namespace sc = stagecraft;
using sc::dtype;
using sc::tiles::reduce_function;
using sc::tiles::tensor_role;

constexpr sc::ipu_target target_of(int tiles) {
  auto result = sc::ipu_targets::ipu2;
  result.tiles_per_ipu = tiles;
  return result;
}

struct reduction {
  sc::detail::reduce_plan plan;
  sc::tiles::operation_cost cost;
};

constexpr reduction reduce(int tiles, std::int64_t outer, std::int64_t reduced, std::int64_t inner,
                           reduce_function function = reduce_function::sum, dtype type = dtype::float32,
                           float scale = 1) {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, type, outer * reduced * inner);
  int const y = step.tensor(tensor_role::output, 0, dtype::float32, outer * inner);
  sc::tiles::append_reduce(step, function, {x}, y, outer, reduced, inner, scale);
  auto const target = target_of(tiles);
  return {sc::detail::plan_reduce(step, step.tasks[0], target), sc::tiles::cost_of(step, step.tasks[0], target)};
}

// 16 columns of 3 on 8 tiles: each receives 3 rows of its 2 results, which one load holds; 29 cycles for a worker.
constexpr auto received = reduce(8, 1, 3, 16);
static_assert(!received.plan.is_local && received.plan.parts == 1);
static_assert(received.cost == sc::tiles::operation_cost{.compute_cycles = 6 * (16 + 3 + 5 + 3 + 2),
                                                         .exchange_cycles = 6,
                                                         .sync_cycles = 126,
                                                         .flops = 48,
                                                         .bytes_exchanged = 24,
                                                         .exchanges = 1,
                                                         .compute_sets = 1,
                                                         .temporary_bytes = 24});

// 2 columns of 64 on one tile, by rows: 11 for each worker, then what 6 workers have found. The result is one more row.
constexpr auto local = reduce(1, 1, 64, 2);
static_assert(local.plan.is_local && local.plan.partials == 1 && local.plan.parts == 1);
static_assert(local.cost == sc::tiles::operation_cost{.compute_cycles = 6 * (16 + 3 + 5 + 3 + 10) +
                                                                        6 * (16 + 3 + 5 + 3 + 5) + 6 * (16 + 3 + 5 + 3),
                                                      .exchange_cycles = 2,
                                                      .sync_cycles = 126,
                                                      .flops = 128 + 2,
                                                      .bytes_exchanged = 8,
                                                      .exchanges = 1,
                                                      .compute_sets = 2,
                                                      .temporary_bytes = 8 + 8});

// A mean is a sum with one product more per result: 20 + 2 cycles for a worker, and the supervisor's.
static_assert(reduce(1, 1, 64, 2, reduce_function::mean).cost.compute_cycles ==
              local.cost.compute_cycles + 6 * (20 + 2) + 11);
static_assert(reduce(1, 1, 64, 2, reduce_function::mean).cost.flops == local.cost.flops + 2);
// Squares count as one operation more for each element.
static_assert(reduce(1, 1, 64, 2, reduce_function::sum_of_squares).cost.flops == local.cost.flops + 128);

// The channels of a field on a whole IPU: nobody has to receive the partial results of all tiles.
constexpr auto channels = reduce(1472, 1, 8 * 56 * 56, 256, reduce_function::sum, dtype::float16);
static_assert(channels.plan.is_local && channels.plan.parts == 64);
static_assert(channels.cost.exchanges == 2 && channels.cost.compute_sets == 3);
static_assert(channels.cost.bytes_exchanged < 4 * 1472);

TEST_CASE("more tiles reduce faster") {
  CHECK(reduce(64, 1, 10000, 32).cost.cycles() < reduce(8, 1, 10000, 32).cost.cycles());
  CHECK(reduce(8, 1, 10000, 32).cost.cycles() < reduce(1, 1, 10000, 32).cost.cycles());
}

}  // namespace
