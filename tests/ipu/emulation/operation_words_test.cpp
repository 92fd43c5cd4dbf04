// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` and functions of tensors, and their gradients, on small IPUs: values as the reference computes them on
// doubles; cycles and memory as foretold.
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <string>

#include "../../host/lists/operation_words.hpp"
#include "plan_on_tiles.hpp"

namespace sc = stagecraft;
using namespace sc::operations;        // NOLINT: as a layer is written
using namespace sc::operations::runs;  // NOLINT: the tests' own

namespace {

bool is_close(float found, float expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return true;
  return std::fabs(found - expected) <= 1e-5F * (1 + std::fabs(expected));
}
void check_close(floats const& found, floats const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!is_close(found[i], expected[i])) FAIL_CHECK("element " << i << " is " << found[i] << ", not " << expected[i]);
}

}  // namespace

TEST_CASE("words of ops on tiles") {
  int tiles = 0;
  for (auto const& [name, computed, tolerance] : word_cases()) {
    CAPTURE(name);
    numbers found;
    auto const shapes = read_inputs(name, found);
    traced_plan const plan(trace_call(computed, shapes), true);
    auto expected = found;
    reference_run(plan, expected);
    CHECK(tests::plan_on_tiles(plan, tests::target_of(1 + tiles++ % 9), sc::dtype::float32).run(found));
    check_close(found.output, expected.output);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) check_close(found.gradients[i], expected.gradients[i]);
  }
}

TEST_CASE("transpositions of many axes are several copies") {
  for (auto const& order :
       {sc::axis_list{6, 5, 4, 3, 2, 1, 0}, sc::axis_list{1, 3, 5, 0, 2, 4, 6}, sc::axis_list{3, 0, 5, 2, 6, 1, 4}}) {
    numbers found;
    extents const shape(2, 3, 2, 4, 3, 2, 2);
    for (long long i = 0; i < shape.size(); ++i)
      found.inputs.resize(1), found.inputs[0].push_back(static_cast<float>(i));
    found.output_gradient = found.inputs[0];
    auto const transposed = [&](tracer& ops, auto in) { return ops.transpose(in[0], order); };
    traced_plan const plan(trace_call(transposed, std::array{shape}), true);
    auto expected = found;
    reference_run(plan, expected);
    CHECK(tests::plan_on_tiles(plan, tests::target_of(5), sc::dtype::float32).run(found));
    CHECK(found.output == expected.output);
    CHECK(found.gradients == expected.gradients);
  }
}
