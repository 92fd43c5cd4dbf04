// SPDX-License-Identifier: BSD-3-Clause
// Rows of a table by their numbers, on small IPUs: values as in plain loops, cycles and memory as the cost says.
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <stagecraft/ipu/tiles/codelets/table.hpp>

#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <vector>
#include "step_on_tiles.hpp"

namespace sc = stagecraft;
using sc::tiles::tensor_role;

namespace {

struct random_table {
  std::mt19937 random;
  tests::step_on_tiles tiles;
  sc::dtype type;
  int rows, columns, numbers;

  random_table(unsigned seed, int tile_count)
      : random(seed),
        tiles(tile_count),
        type(below(2) == 0 ? sc::dtype::float32 : sc::dtype::float16),
        rows(1 + below(40)),
        columns(1 + below(9)),
        numbers(1 + below(12)) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); }

  void check(sc::tiles::table_function function) {
    bool const is_gather = function == sc::tiles::table_function::gather;
    int const in = tiles.add(tensor_role::input, columns * (is_gather ? rows : numbers), type);
    int const which = tiles.add(tensor_role::saved, numbers);
    int const result = tiles.add(tensor_role::output, columns * (is_gather ? numbers : rows), type);
    tiles.fill(in, random);
    tiles.fill(which, random, -1, rows);  // some are outside
    tiles.fill(result, random);
    auto const x = tiles[in], places = tiles[which];
    append_table(tiles.step, function, in, which, result, type, sc::dtype::float32, rows, columns, numbers,
                 tiles.target);
    tiles.run(sc::tiles::run_task, sc::tiles::cost_of(tiles.step, tiles.step.tasks[0], tiles.target));

    std::vector<float> expected(tiles[result].size());
    for (int k = 0; k < numbers; ++k) {
      int const row = static_cast<int>(places[static_cast<std::size_t>(k)]);
      for (int c = 0; c < columns && row >= 0 && row < rows; ++c) {
        auto const in_table = static_cast<std::size_t>(row * columns + c);
        auto const in_rows = static_cast<std::size_t>(k * columns + c);
        if (is_gather)
          expected[in_rows] = x[in_table];
        else
          expected[in_table] += x[in_rows];
      }
    }
    CHECK(tiles[result] == expected);
  }
};

}  // namespace

TEST_CASE("rows of a table, and sums of them") {
  for (int const tiles : {1, 2, 7, 30})
    for (unsigned seed = 0; seed < 8; ++seed) {
      CAPTURE(tiles);
      CAPTURE(seed);
      random_table(seed, tiles).check(sc::tiles::table_function::gather);
      random_table(seed, tiles).check(sc::tiles::table_function::scatter_add);
    }
}
