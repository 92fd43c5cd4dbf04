// SPDX-License-Identifier: BSD-3-Clause
// Random compositions of operations: gradients against finite differences on doubles, and the runner on floats, in the
// memory that the plan gives it, against the reference.
#include "random_operations.hpp"
#include "../../operations/gradient_check.hpp"
#include "run_plan.hpp"

#include <doctest/doctest.h>
#include <random>

namespace stagecraft::operations::runs {

namespace {

floats drawn(std::mt19937& engine, std::size_t count) {
  std::normal_distribution<float> normal;
  floats result(count);
  for (auto& x : result) x = normal(engine);
  return result;
}

void check_close(floats const& found, floats const& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    double const value = static_cast<double>(expected[i]);
    CHECK(std::abs(static_cast<double>(found[i]) - value) <= 2e-4 * (1 + std::abs(value)));
  }
}

}  // namespace

TEST_CASE("random compositions") {
  int checked = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    extents const shapes[]{{2, 3, 4}, {3, 4}, {1, 4}};
    auto traced = trace_call(
        [&](tracer& ops, std::span<tensor const> in) { return random_operations(seed).write(ops, in); }, shapes);
    REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
    traced_plan const plan(std::move(traced), true);
    checked += reference::gradient_check(plan.traced, seed).check(1e-6);

    numbers on_floats;
    std::mt19937 engine(seed);
    for (auto const& shape : shapes) on_floats.inputs.push_back(drawn(engine, static_cast<std::size_t>(shape.size())));
    for (auto const& weight : plan.traced.weights)
      on_floats.weights.push_back(drawn(engine, static_cast<std::size_t>(weight.shape.size())));
    on_floats.output_gradient = drawn(engine, size_of(plan, plan.traced.outputs[0]));
    auto expected = on_floats;
    reference_run(plan, expected);
    float_run const run(plan, on_floats);
    check_close(on_floats.output, expected.output);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i)
      check_close(on_floats.gradients[i], expected.gradients[i]);
    for (std::size_t i = 0; i < expected.weights.size(); ++i) check_close(on_floats.weights[i], expected.weights[i]);
  }
  CHECK(checked > 1500);
}

TEST_CASE("random compositions have the same bits, however many samples are worked on at once") {
  constexpr int batch = 4;
  int divided = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    extents const shapes[]{{batch, 3, 4}, {batch, 4}, {2 * batch, 4}, {1, 4}};
    auto const traced = [&] {
      return trace_call([&](tracer& ops, std::span<tensor const> in) { return random_operations(seed).write(ops, in); },
                        shapes);
    };
    traced_plan const whole(traced(), true), by_sample(traced(), true, {}, batch);
    REQUIRE(!whole.traced.list.problem.failed());

    numbers expected;
    std::mt19937 engine(seed);
    for (auto const& shape : shapes) expected.inputs.push_back(drawn(engine, static_cast<std::size_t>(shape.size())));
    for (auto const& weight : whole.traced.weights)
      expected.weights.push_back(drawn(engine, static_cast<std::size_t>(weight.shape.size())));
    expected.output_gradient = drawn(engine, size_of(whole, whole.traced.outputs[0]));
    for (int const at_once : {1, 3}) {
      auto found = expected, once = expected;
      float_run const run(by_sample, found, batch, at_once);
      float_run const reference(whole, once);
      divided += run.divided();
      CHECK(found.output == once.output);
      CHECK(found.gradients == once.gradients);
      CHECK(found.weights == once.weights);
    }
  }
  CHECK(divided > 2000);
}

TEST_CASE("gradients of random compositions have the same bits, whichever others are wanted") {
  int compared = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    extents const shapes[]{{2, 3, 4}, {3, 4}, {1, 4}};
    auto const traced = [&] {
      return trace_call([&](tracer& ops, std::span<tensor const> in) { return random_operations(seed).write(ops, in); },
                        shapes);
    };
    traced_plan const whole(traced(), true);
    numbers all;
    std::mt19937 engine(seed);
    for (auto const& shape : shapes) all.inputs.push_back(drawn(engine, static_cast<std::size_t>(shape.size())));
    for (auto const& weight : whole.traced.weights)
      all.weights.push_back(drawn(engine, static_cast<std::size_t>(weight.shape.size())));
    all.output_gradient = drawn(engine, size_of(whole, whole.traced.outputs[0]));
    auto const given = all;
    float_run const run(whole, all);
    std::size_t const count = all.gradients.size();
    for (std::size_t unwanted = 0; unwanted < count; ++unwanted) {
      if (all.gradients[unwanted].empty()) continue;
      bool wanted[64]{};
      for (std::size_t i = 0; i < count; ++i) wanted[i] = i != unwanted;
      auto some = given;
      traced_plan const smaller(traced(), true, std::span<bool const>(wanted, count));
      float_run const again(smaller, some);
      CHECK(some.output == all.output);
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(some.gradients[i] == (wanted[i] ? all.gradients[i] : floats{}));
        compared += some.gradients[i].empty() ? 0 : 1;
      }
    }
  }
  CHECK(compared > 300);
}

}  // namespace stagecraft::operations::runs
