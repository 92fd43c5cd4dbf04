// SPDX-License-Identifier: BSD-3-Clause
// Reductions on the tiles of small IPUs: values as in plain loops, cycles and memory as the cost says.
#include "run_on_tiles.hpp"

#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/reduce.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <random>
#include <vector>

namespace {

namespace sc = stagecraft;
using sc::tiles::reduce_function;
using floats = std::vector<float>;

float rounded(float value, sc::dtype type) {
  return type == sc::dtype::float16 ? sc::half_number::value(sc::half_number::nearest(value)) : value;
}

struct reduction {
  reduce_function function = reduce_function::sum;
  std::int64_t outer = 1, reduced = 1, inner = 1;
  sc::dtype from = sc::dtype::float32, to = sc::dtype::float32;
  float scale = 1;
};

/// Values are small whole numbers, so that sums are exact in any order.
sc::detail::reduce_plan check(reduction const& what, int tiles, unsigned seed = 1) {
  auto const target = tests::target_of(tiles);
  auto const elements = what.outer * what.reduced * what.inner, results = what.outer * what.inner;
  bool const products = what.function == reduce_function::sum_of_products;
  sc::tiles::lowered_step step;
  int const a = step.tensor(sc::tiles::tensor_role::input, 0, what.from, elements);
  int const y = step.tensor(sc::tiles::tensor_role::output, 0, what.to, results);
  if (products)
    sc::tiles::append_reduce(step, what.function,
                             {a, step.tensor(sc::tiles::tensor_role::input, 1, what.from, elements)}, y, what.outer,
                             what.reduced, what.inner, what.scale);
  else
    sc::tiles::append_reduce(step, what.function, {a}, y, what.outer, what.reduced, what.inner, what.scale);
  std::mt19937 engine(seed);
  floats x[2];
  for (auto& values : x)
    for (std::int64_t i = 0; i < elements; ++i) values.push_back(static_cast<float>(engine() % 9) - 4);
  auto const result = tests::run_on_tiles(step, target, {x[0], {}, x[1]}, sc::tiles::run_task);

  auto cost = sc::tiles::cost_of(step, step.tasks[0], target);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) <= result.tensor_bytes + cost.temporary_bytes);
  CHECK(sc::tiles::rounded_bytes(result.high_water_mark) + 8 * 3 >= result.tensor_bytes + cost.temporary_bytes);
  cost.temporary_bytes = 0;
  CHECK(result.counted == cost);

  bool all = true;
  for (std::int64_t o = 0; o < what.outer; ++o)
    for (std::int64_t i = 0; i < what.inner; ++i) {
      float sum = what.function == reduce_function::maximum ? -std::numeric_limits<float>::infinity() : 0.0F;
      for (std::int64_t r = 0; r < what.reduced; ++r) {
        auto const e = static_cast<std::size_t>((o * what.reduced + r) * what.inner + i);
        float const v = x[0][e];
        if (what.function == reduce_function::maximum)
          sum = v > sum ? v : sum;
        else
          sum += what.function == reduce_function::sum_of_squares ? v * v : products ? v * x[1][e] : v;
      }
      float const scale =
          what.function == reduce_function::mean ? what.scale / static_cast<float>(what.reduced) : what.scale;
      all = all && result.tensors[static_cast<std::size_t>(y)][static_cast<std::size_t>(o * what.inner + i)] ==
                       rounded(scale * sum, what.to);
    }
  CHECK(all);
  return sc::detail::plan_reduce(step, step.tasks[0], target);
}

TEST_CASE("reductions of any shape") {
  std::mt19937 engine(7);
  auto const between = [&](int low, int high) {
    return low + static_cast<int>(engine() % static_cast<unsigned>(high - low + 1));
  };
  auto const length = [&] { return between(0, 2) == 0 ? 1 : between(0, 3) == 0 ? between(1, 200) : between(1, 20); };
  int local = 0, shared = 0;
  for (int const tiles : {1, 3, 8, 64, 1472})
    for (int trial = 0; trial < 60; ++trial) {
      reduction what{.function = static_cast<reduce_function>(between(0, 4)),
                     .outer = length(),
                     .reduced = length(),
                     .inner = length(),
                     .from = between(0, 1) == 0 ? sc::dtype::float32 : sc::dtype::float16,
                     .to = between(0, 1) == 0 ? sc::dtype::float32 : sc::dtype::float16,
                     .scale = between(0, 1) == 0 ? 1.0F : 0.25F};
      if (trial % 4 == 0) what.outer = between(1, 3), what.reduced = between(200, 900), what.inner = between(1, 30);
      if (what.outer * what.reduced * what.inner > 100000) continue;
      CAPTURE(tiles);
      CAPTURE(static_cast<int>(what.function));
      CAPTURE(what.outer);
      CAPTURE(what.reduced);
      CAPTURE(what.inner);
      auto const plan = check(what, tiles, static_cast<unsigned>(trial));
      local += plan.is_local ? 1 : 0;
      shared += plan.parts > 1 ? 1 : 0;
    }
  CHECK(local > 100);
  CHECK(shared > 20);
}

TEST_CASE("partial results are reduced on the way if there are many") {
  // 32 channels of a field.
  auto const channels = check({.reduced = 4000, .inner = 32}, 256);
  CHECK(channels.is_local);
  CHECK(channels.parts > 1);
  // A sum of all: 80 elements on each of 63 tiles.
  auto const all = check({.reduced = 5000}, 64);
  CHECK(all.is_local);
  CHECK(all.partials == 63);
}

TEST_CASE("many columns are received where their results lie") {
  auto const plan = check({.reduced = 3, .inner = 2000}, 64);
  CHECK(!plan.is_local);
  CHECK(plan.parts == 1);
}

TEST_CASE("what is not a number stays so in a maximum") {
  sc::tiles::lowered_step step;
  int const x = step.tensor(sc::tiles::tensor_role::input, 0, sc::dtype::float32, 6);
  int const y = step.tensor(sc::tiles::tensor_role::output, 0, sc::dtype::float32, 2);
  sc::tiles::append_reduce(step, reduce_function::maximum, {x}, y, 2, 3, 1);
  auto const nan = std::numeric_limits<float>::quiet_NaN();
  for (int const tiles : {1, 3}) {
    auto const result = tests::run_on_tiles(step, tests::target_of(tiles), {{1, nan, 2, 3, 5, 4}}, sc::tiles::run_task);
    CHECK(std::isnan(result.tensors[1][0]));
    CHECK(result.tensors[1][1] == 5);
  }
}

}  // namespace
