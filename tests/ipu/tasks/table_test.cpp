// SPDX-License-Identifier: BSD-3-Clause
// What rows of a table by their numbers cost.
#include <stagecraft/ipu/tasks/table.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype, sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target few_tiles(int tiles) {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

/// Of a table (rows, columns), and `numbers` of its rows.
constexpr sc::tiles::operation_cost cost(sc::tiles::table_function function, int tiles, int rows, int columns,
                                         int numbers) {
  auto const target = few_tiles(tiles);
  bool const is_gather = function == sc::tiles::table_function::gather;
  sc::tiles::lowered_step step;
  int const in = step.tensor(tensor_role::input, 0, dtype::float32, columns * (is_gather ? rows : numbers));
  int const which = step.tensor(tensor_role::input, 1, dtype::float32, numbers);
  int const result = step.tensor(tensor_role::output, 0, dtype::float32, columns * (is_gather ? numbers : rows));
  append_table(step, function, in, which, result, dtype::float32, dtype::float32, rows, columns, numbers, target);
  return cost_of(step, step.tasks[0], target);
}

// Each of two tiles has 2 of 4 columns: 8 numbers of the table and 6 of rows, 4 bytes in a cycle. It clears 6 x 2
// numbers, 6 * (23 + 2 / 2); a worker copies one vector and looks at 5 numbers more, 6 * (30 + 19 + 2 + 5 * 8). Then
// each gets its 12 of the results.
static_assert(cost(sc::tiles::table_function::gather, 2, 4, 4, 6) ==
              sc::tiles::operation_cost{.compute_cycles = 144 + 546,
                                        .exchange_cycles = 14 + 12,
                                        .sync_cycles = 2 * 126,
                                        .bytes_exchanged = 56 + 48,
                                        .exchanges = 2,
                                        .compute_sets = 1,
                                        .temporary_bytes = 32 + 24 + 48});
// The other way round: 6 x 2 numbers come, 4 x 2 are cleared, one cycle more adds a vector.
static_assert(cost(sc::tiles::table_function::scatter_add, 2, 4, 4, 6) ==
              sc::tiles::operation_cost{.compute_cycles = 144 + 6 * (29 + 19 + 2 + 40) + 6,
                                        .exchange_cycles = 18 + 8,
                                        .sync_cycles = 2 * 126,
                                        .flops = 24,
                                        .bytes_exchanged = 72 + 32,
                                        .exchanges = 2,
                                        .compute_sets = 1,
                                        .temporary_bytes = 48 + 24 + 32});

}  // namespace

TEST_CASE("more tiles than columns share out the rows, too") {
  CHECK(cost(sc::tiles::table_function::gather, 64, 4096, 4, 128).cycles() <
        cost(sc::tiles::table_function::gather, 2, 4096, 4, 128).cycles());
}
