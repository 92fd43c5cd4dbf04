// SPDX-License-Identifier: BSD-3-Clause
// Random compositions of operations: gradients against finite differences on doubles, and the runner on floats, in the
// memory that the plan gives it, against the reference.
#include "../../operations/gradient_check.hpp"
#include "run_plan.hpp"

#include <doctest/doctest.h>
#include <random>

namespace stagecraft::operations::runs {

namespace {

/// Writes down operations at random; no value becomes large, so that differences keep their digits.
class random_program {
 public:
  explicit random_program(unsigned seed) : engine_(seed) {}

  tensor write(tracer& ops, std::span<tensor const> inputs) {
    std::vector<tensor> values(inputs.begin(), inputs.end());
    values.push_back(ops.weight({.name = "a", .shape = {4}}));
    values.push_back(ops.weight({.name = "b", .shape = {4, 4}}));
    int const count = 3 + draw(9);
    for (int i = 0; i < count; ++i) {
      tensor const x = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
      if (tensor const y = apply_one(ops, x, values); y.shape().size() <= 200) values.push_back(y);
    }
    if (draw(3) == 0) {  // gradients are those of the step that has read the old weight
      tensor const old = values[inputs.size() + static_cast<std::size_t>(draw(2))];
      ops.update(old, cos(old) * 0.5F);
    }
    return values.back();
  }

 private:
  int draw(int below) { return static_cast<int>(engine_() % static_cast<unsigned>(below)); }

  /// Some other value that broadcasts with x, or x.
  tensor partner(tensor x, std::vector<tensor> const& values) {
    tensor const other = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
    extents shape = x.shape();
    return shape.broadcast_with(other.shape()) ? other : x;
  }
  tensor apply_one(tracer& ops, tensor x, std::vector<tensor> const& values) {
    int const rank = x.rank(), axis = rank > 0 ? draw(rank) : 0;
    switch (draw(18)) {
      case 0: return tanh(x);
      case 1: return sigmoid(x) - 0.25F;
      case 2: return exp(tanh(x)) * 0.5F;
      case 3: return rsqrt(square(x) + 1.0F);
      case 4: return erf(x) + sin(x);
      case 5: return tanh(x + partner(x, values));
      case 6: return tanh(x * partner(x, values));
      case 7: return x / (square(partner(x, values)) + 1.0F);
      case 8: return where(x < 0.1F, x * 0.5F, partner(x, values));
      case 9: return ops.mean(x, axis);
      case 10: return ops.softmax(x, axis);
      case 11: return x - ops.max(x, axis);
      case 12: {
        std::vector<int> order;
        for (int i = 0; i < rank; ++i) order.push_back((i + 1) % rank);
        return rank == 3 ? ops.transpose(x, {order[0], order[1], order[2]}) : rank == 2 ? ops.transpose(x, {1, 0}) : x;
      }
      case 13: return ops.reshape(x, {static_cast<int>(x.shape().size())});
      case 14: return x.length(axis) > 1 ? ops.slice(x, axis, 1, x.length(axis) - 1) : x;
      case 15: return ops.pad(ops.flip(x, axis), axis, 1, 0);
      case 16: return ops.concatenate({x, tanh(x)}, axis);
      default: return rank >= 2 ? tanh(ops.matmul(x, x, {.transpose_b = true})) : square(tanh(x));
    }
  }

  std::mt19937 engine_;
};

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
        [&](tracer& ops, std::span<tensor const> in) { return random_program(seed).write(ops, in); }, shapes);
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
      return trace_call([&](tracer& ops, std::span<tensor const> in) { return random_program(seed).write(ops, in); },
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

}  // namespace stagecraft::operations::runs
