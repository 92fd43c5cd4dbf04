// SPDX-License-Identifier: BSD-3-Clause
// The gradient rule of each operation, and of compositions of them, against finite differences.
#include "gradient_check.hpp"

#include <stagecraft/operations/differentiation.hpp>
#include <array>
#include <doctest/doctest.h>

namespace stagecraft::operations {

namespace {

template <class Call>
trace differentiated(std::initializer_list<extents> shapes, Call const& call) {
  trace traced = trace_call(call, std::span<extents const>(shapes.begin(), shapes.size()));
  differentiate(traced);
  REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
  return traced;
}

/// Checks the gradients of `call(ops, inputs)`; all inputs have some.
template <class Call>
void check(std::initializer_list<extents> shapes, Call const& call, double tolerance = 1e-7) {
  trace const traced = differentiated(shapes, call);
  int count = 0;
  for (extents const& shape : shapes) count += static_cast<int>(shape.size());
  CHECK(reference::gradient_check(traced).check(tolerance) >= count);
}

using tensors = std::span<tensor const>;

}  // namespace

TEST_CASE("gradients of functions of one number") {
  auto const check_one = [](auto const& f) { check({{2, 3}}, [&](tracer&, tensors in) { return f(in[0]); }); };
  check_one([](tensor x) { return -x; });
  check_one([](tensor x) { return abs(x); });
  check_one([](tensor x) { return exp(x); });
  check_one([](tensor x) { return log(x * x + 0.5F); });
  check_one([](tensor x) { return softplus(x); });
  check_one([](tensor x) { return sqrt(x * x + 0.5F); });
  check_one([](tensor x) { return rsqrt(x * x + 0.5F); });
  check_one([](tensor x) { return sin(x) * cos(x); });
  check_one([](tensor x) { return tanh(x); });
  check_one([](tensor x) { return sigmoid(x); });
  check_one([](tensor x) { return erf(x); });
  check_one([](tensor x) { return floor(x) * x + sign(x) * x; });
  check_one([](tensor x) { return square(x) + 2.0F * x - 1.0F; });
}

TEST_CASE("gradients of functions of several numbers, broadcast") {
  auto const check_two = [](auto const& f) {
    check({{2, 3, 4}, {3, 1}}, [&](tracer&, tensors in) { return f(in[0], in[1]); });
    check({{4}, {2, 3, 1}}, [&](tracer&, tensors in) { return f(in[0], in[1]); });
  };
  check_two([](tensor a, tensor b) { return a + b; });
  check_two([](tensor a, tensor b) { return a - b; });
  check_two([](tensor a, tensor b) { return a * b; });
  check_two([](tensor a, tensor b) { return a / (b * b + 1.0F); });
  check_two([](tensor a, tensor b) { return pow(a * a + 1.0F, b); });
  check_two([](tensor a, tensor b) { return maximum(a, b); });
  check_two([](tensor a, tensor b) { return minimum(a, b); });
  check_two([](tensor a, tensor b) { return where(a < b, a, b * 2.0F) + where(a >= 0.0F, b, 1.0F); });
}

TEST_CASE("no gradient flows through comparisons and stop_gradient") {
  trace const traced = differentiated({{3}, {3}}, [](tracer&, tensors in) { return in[0] + stop_gradient(in[1]); });
  CHECK(traced.gradients[0] >= 0);
  CHECK(traced.gradients[1] < 0);
  trace const compared = differentiated({{3}}, [](tracer&, tensors in) { return in[0] < 1.0F; });
  CHECK(compared.gradients[0] < 0);
}

TEST_CASE("gradients of reductions") {
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return ops.sum(in[0], {0, 2}); });
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return ops.mean(in[0], -2) * in[0]; });
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return ops.max(in[0], {1, 2}); });
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return ops.min(in[0], 1) + ops.var(in[0], -1); });
}

TEST_CASE("equal largest elements share the gradient") {
  trace const traced = differentiated({{2, 2}}, [](tracer& ops, tensors in) { return ops.max(in[0], 1); });
  reference::interpreter run(traced.list.nodes, traced.list.operands);
  run[traced.inputs[0]] = {1, 1, 2, 3};
  run[traced.seeds[0]] = {1, 1};
  run.run(traced.list.size());
  CHECK(run[traced.gradients[0]] == std::vector<double>{0.5, 0.5, 0, 1});
}

TEST_CASE("gradients of products: transposed, batched, broadcast") {
  for (bool const ta : {false, true})
    for (bool const tb : {false, true}) {
      extents const a = ta ? extents(2, 3, 4) : extents(2, 4, 3), b = tb ? extents(2, 5, 3) : extents(2, 3, 5);
      check({a, b}, [&](tracer& ops, tensors in) { return ops.matmul(in[0], in[1], {ta, tb}); });
    }
  check({{2, 1, 4, 3}, {5, 3, 2}}, [](tracer& ops, tensors in) { return ops.matmul(in[0], in[1]); });
  check({{2, 3, 4}, {4, 5}}, [](tracer& ops, tensors in) { return ops.matmul(in[0], in[1]); });
}

TEST_CASE("gradients of convolutions and of their gradients") {
  windows const same(window::same(5, 3, 2), window::same(4, 2));
  check({{2, 5, 4, 3}, {3, 2, 3, 2}}, [&](tracer& ops, tensors in) { return ops.conv(in[0], in[1], same); });
  windows const grouped(window{2, 1, 2, 1, 0});
  check({{2, 6, 4}, {2, 2, 6}}, [&](tracer& ops, tensors in) { return ops.conv(in[0], in[1], grouped, 2); });
  check({{1, 6, 4}, {2, 1, 4}}, [&](tracer& ops, tensors in) { return ops.conv(in[0], in[1], grouped, 4); });
  windows const solid(window{2}, window{2}, window{2, 2});
  check({{1, 3, 3, 4, 2}, {2, 2, 2, 2, 1}}, [&](tracer& ops, tensors in) { return ops.conv(in[0], in[1], solid); });
  check({{2, 3, 4, 2}, {3, 2, 3, 2}},
        [&](tracer& ops, tensors in) { return ops.conv_transpose(in[0], in[1], same, {2, 5, 4, 3}); });
  check({{2, 5, 4, 3}, {2, 3, 4, 2}}, [&](tracer& ops, tensors in) {
    return ops.append(convolution_filter_gradient{same}, {3, 2, 3, 2}, {in[0].id, in[1].id});
  });
}

TEST_CASE("gradients of poolings") {
  windows const over(window::same(5, 3, 2), window{2, 1});
  check({{2, 5, 4, 3}}, [&](tracer& ops, tensors in) { return ops.max_pool(in[0], over); });
  check({{2, 5, 4, 3}}, [&](tracer& ops, tensors in) { return ops.average_pool(in[0], over); });
}

TEST_CASE("gradients of movement") {
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.reshape(in[0], {4, 6})); });
  check({{3, 1}}, [](tracer& ops, tensors in) { return square(ops.broadcast(in[0], {2, 3, 4})); });
  check({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.transpose(in[0], {2, 0, 1})); });
  check({{1, 2, 1, 2, 3, 1, 2}},
        [](tracer& ops, tensors in) { return square(ops.transpose(in[0], {0, 6, 4, 1, 2, 5, 3})); });
  check({{2, 7}}, [](tracer& ops, tensors in) { return square(ops.slice(in[0], -1, 1, 3, 2)); });
  check({{2, 3, 2}}, [](tracer& ops, tensors in) { return ops.flip(in[0], 1) * in[0]; });
  check({{2, 3}}, [](tracer& ops, tensors in) { return square(ops.pad(in[0], 1, 2, 1)) + 1.0F; });
  check({{2, 3}, {2, 1}}, [](tracer& ops, tensors in) { return square(ops.concatenate({in[0], in[1], in[0]}, 1)); });
}

TEST_CASE("gradients of rows taken by indices") {
  trace const traced = differentiated({{4, 3}}, [](tracer& ops, tensors in) {
    tensor const indices = ops.iota({2, 3}) * 2.0F;  // 0, 2, 4: the last is outside
    return square(ops.take(in[0], indices));
  });
  reference::gradient_check check_rows(traced);
  check_rows.check();
  auto const rows = check_rows.output();
  CHECK(rows[6] == 0);
  check({{2, 3}}, [](tracer& ops, tensors in) {
    tensor const indices = ops.iota({2});
    return square(ops.append(scatter_add{}, {4, 3}, {in[0].id, indices.id}));
  });
}

TEST_CASE("gradients of weights, in the order in which they are made") {
  trace const traced = differentiated({{3, 4}}, [](tracer& ops, tensors in) {
    tensor const kernel = ops.weight({.name = "kernel", .shape = {4, 2}});
    tensor const bias = ops.weight({.name = "bias", .shape = {2}});
    return tanh(ops.matmul(in[0], kernel) + bias);
  });
  CHECK(traced.weights[0].name == "kernel");
  CHECK(traced.weights[1].name == "bias");
  CHECK(reference::gradient_check(traced).check() == 12 + 8 + 2);
}

TEST_CASE("a weight that is used twice gets both gradients") {
  trace const traced = differentiated({{3, 4}}, [](tracer& ops, tensors in) {
    tensor const w = ops.weight({.name = "w", .shape = {4, 4}});
    tensor const h = in[0] + sigmoid(ops.matmul(in[0], w));
    return h + ops.matmul(h, w);
  });
  CHECK(reference::gradient_check(traced).check() == 12 + 16);
}

TEST_CASE("random numbers are drawn once, and have no gradient") {
  trace const traced = differentiated({{4, 6}}, [](tracer& ops, tensors in) {
    return where(ops.uniform(in[0].shape()) < 0.3F, 0.0F, in[0] * (1.0F / 0.7F)) + ops.normal({6});
  });
  CHECK(reference::gradient_check(traced).check() == 24);
}

TEST_CASE("updates do not change what the step reads") {
  trace const traced = differentiated({{2, 3}}, [](tracer& ops, tensors in) {
    tensor const mean = ops.weight({.name = "moving_mean", .shape = {3}, .trainable = false});
    tensor const batch_mean = ops.reshape(ops.mean(in[0], 0), {3});
    ops.update(mean, mean * 0.9F + batch_mean * 0.1F);
    return in[0] - mean;
  });
  CHECK(reference::gradient_check(traced).check() == 6 + 3);
}

TEST_CASE("gradients of composites: from inside, or their own") {
  check({{3, 4}}, [](tracer& ops, tensors in) { return square(ops.softmax(in[0])); });
  check({{3, 4, 2}}, [](tracer& ops, tensors in) { return square(ops.softmax(in[0], 1)); });
  auto const softplus = [](tracer& ops, tensor x) {
    return ops.composite(
        "softplus", {x}, [&] { return log(1.0F + exp(x)); },
        [](composite_gradient& g) { g.give(0, g.gradient() * sigmoid(g.read(0))); });
  };
  trace const traced = differentiated({{5}}, [&](tracer& ops, tensors in) { return square(softplus(ops, in[0])); });
  reference::gradient_check check_own(traced);
  CHECK(check_own.check() == 5);
  check_own.input_values(0) = {700, -700, 1, 2, 3};  // exp(700) / (1 + exp(700)) would do; its square would not
  CHECK(check_own.check(1e-6) == 5);
}

TEST_CASE("gradients of scans") {
  auto const rnn = [](bool reversed, bool only_last) {
    return differentiated({{2, 4, 3}, {2, 5}}, [=](tracer& ops, tensors in) {
      tensor const kernel = ops.weight({.name = "kernel", .shape = {3, 5}});
      tensor const recurrent = ops.weight({.name = "recurrent_kernel", .shape = {5, 5}});
      auto const step = [&](tensor x, std::array<tensor, 1> state) {
        return std::array{tanh(ops.matmul(x, kernel) + ops.matmul(state[0], recurrent))};
      };
      auto const run = ops.scan(in[0], 1, std::array{in[1]}, step, reversed);
      return only_last ? run.last[0] : run.all[0];
    });
  };
  for (bool const reversed : {false, true}) {
    trace const all = rnn(reversed, false), last = rnn(reversed, true);
    CHECK(reference::gradient_check(all).check() == 24 + 10 + 15 + 25);
    CHECK(reference::gradient_check(last).check() == 24 + 10 + 15 + 25);
    auto const states = reference::gradient_check(all).output(), state = reference::gradient_check(last).output();
    CHECK(std::equal(state.begin(), state.begin() + 5, states.begin() + 15));
    CHECK(std::equal(state.begin() + 5, state.end(), states.begin() + 35));
  }
}

TEST_CASE("a scan is its steps, written out") {
  auto const traced = [](bool unrolled) {
    return differentiated({{2, 3, 4}}, [=](tracer& ops, tensors in) {
      tensor const w = ops.weight({.name = "w", .shape = {4, 4}});
      auto const step = [&](tensor x, std::array<tensor, 2> state) {  // two states, one of which reads the other
        tensor const c = sigmoid(x + state[0]) * state[1] + ops.matmul(x, w);
        return std::array{tanh(c), c};
      };
      std::array state{ops.full({2, 4}, 0.5F), ops.full({2, 4}, 0)};
      if (!unrolled) return ops.scan(in[0], 1, state, step).last[0];
      for (int t = 0; t < 3; ++t) state = step(ops.reshape(ops.slice(in[0], 1, t, 1), {2, 4}), state);
      return state[0];
    });
  };
  trace const loop = traced(false), written_out = traced(true);
  auto const a = reference::gradient_check(loop).output(), b = reference::gradient_check(written_out).output();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-12));
  CHECK(reference::gradient_check(loop).check() == reference::gradient_check(written_out).check());
}

TEST_CASE("gradients of a scan within a scan") {
  trace const traced = differentiated({{3, 4, 2}}, [](tracer& ops, tensors in) {
    tensor const w = ops.weight({.name = "w", .shape = {2}});
    auto const inner_step = [&](tensor x, std::array<tensor, 1> state) { return std::array{tanh(x * w + state[0])}; };
    auto const outer_step = [&](tensor x, std::array<tensor, 1> state) {  // x: (4, 2)
      return std::array{sigmoid(ops.scan(x, 0, state, inner_step).last[0] + state[0])};
    };
    return ops.scan(in[0], 0, std::array{ops.full({2}, 0.1F)}, outer_step).all[0];
  });
  CHECK(reference::gradient_check(traced).check() == 24 + 2);
}

TEST_CASE("a loss with several outputs and no gradient of some") {
  trace const traced = differentiated({{2, 3}, {2, 3}, {2}}, [](tracer& ops, tensors in) {
    return std::array{ops.sum(in[0] * in[0], -1), exp(in[1])};
  });
  CHECK(traced.gradients[2] < 0);
  CHECK(reference::gradient_check(traced).check() == 12);
}

}  // namespace stagecraft::operations
