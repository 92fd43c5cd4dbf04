// SPDX-License-Identifier: BSD-3-Clause
// Random compositions of operations, and their gradients, on small IPUs: values as the reference computes them on
// doubles; cycles and memory as foretold.
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <vector>

#include "../../host/lists/random_operations.hpp"
#include "plan_on_tiles.hpp"

namespace sc = stagecraft;
using sc::operations::runs::floats;

namespace {

floats drawn(std::mt19937& engine, long long count) {
  std::normal_distribution<float> normal;
  floats result(static_cast<std::size_t>(count));
  for (auto& x : result) x = normal(engine);
  return result;
}

void check_close(floats const& found, floats const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - expected[i]) <= 1e-4F * (1 + std::fabs(expected[i]))))
      FAIL_CHECK("element " << i << " is " << found[i] << ", not " << expected[i]);
}

}  // namespace

TEST_CASE("random compositions, some of them with a loop") {
  using namespace sc::operations;  // NOLINT: as a layer is written
  int done = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    extents const shapes[]{{2, 3, 4}, {3, 4}, {1, 4}};
    auto traced = trace_call(
        [&](tracer& ops, std::span<tensor const> in) {
          std::vector<tensor> given(in.begin(), in.end());
          if (seed % 3 == 0) {
            auto const kernel = ops.weight({.name = "kernel", .shape = {4, 4}});
            auto const step = [&](tensor here, auto state) {
              return std::array{tanh(here + ops.matmul(state[0], kernel)), state[0] * 0.5F};
            };
            given[0] = ops.scan(in[0], 1, std::array{ops.full({2, 4}, 0.25F), ops.full({2, 4}, 0)}, step, seed % 2 == 0)
                           .all[seed / 6 % 2];
          }
          return runs::random_operations(seed).write(ops, given);
        },
        shapes);
    REQUIRE(!traced.list.problem.failed());
    traced_plan const plan(std::move(traced), true);
    runs::numbers found;
    std::mt19937 engine(seed);
    for (auto const& shape : shapes) found.inputs.push_back(drawn(engine, shape.size()));
    for (auto const& weight : plan.traced.weights) found.weights.push_back(drawn(engine, weight.shape.size()));
    found.output_gradient = drawn(engine, plan.traced.list.node_of(plan.traced.outputs[0]).shape.size());
    auto expected = found;
    runs::reference_run(plan, expected);
    auto const target = tests::target_of(1 + static_cast<int>(seed % 9));
    auto in_halves = found;  // which take other ways at conditions: only what was counted is compared
    done += tests::plan_on_tiles(plan, target, sc::dtype::float16).run(in_halves);
    if (!tests::plan_on_tiles(plan, target, sc::dtype::float32).run(found)) continue;
    ++done;
    check_close(found.output, expected.output);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) check_close(found.gradients[i], expected.gradients[i]);
    for (std::size_t i = 0; i < expected.weights.size(); ++i) check_close(found.weights[i], expected.weights[i]);
  }
  CHECK(done == 2 * 300);
}
