// SPDX-License-Identifier: BSD-3-Clause
// The gradient of each operation is made of operations, whose gradients are right: against differences of the first
// gradient, on doubles.
#include "gradient_check.hpp"

#include <stagecraft/operations/gradients.hpp>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <set>

namespace stagecraft::operations {

namespace {

using tensors = std::span<tensor const>;

/// What a result must have before it means anything: numbers, some of which are not 0.
void check_is_something(std::vector<double> const& values) {
  bool is_zero = true;
  for (double const x : values) {
    REQUIRE(std::isfinite(x));
    is_zero = is_zero && x == 0;
  }
  CHECK_FALSE(is_zero);
}

/// The kinds of operations and the functions that have stood in a call whose gradient was compared.
std::set<int> kinds_seen, functions_seen;

/// Checks the gradients of `call(ops, inputs)`, which has a gradient in it. All inputs have a gradient that is not 0.
template <class Call>
void check(std::initializer_list<extents> shapes, Call const& call, double tolerance = 1e-6) {
  trace traced = trace_call(call, std::span<extents const>(shapes.begin(), shapes.size()));
  REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
  differentiate(traced);
  REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
  reference::gradient_check differences(traced);
  check_is_something(differences.output());
  int count = 0;
  for (std::size_t leaf = 0; leaf < traced.gradients.size(); ++leaf) {
    REQUIRE(traced.gradients[leaf] >= 0);
    check_is_something(differences.gradient(leaf));
    count += static_cast<int>(differences.gradient(leaf).size());
  }
  CHECK(differences.check(tolerance) == count);
  for (int id = 0; id < traced.forward_count; ++id) {
    auto const& what = traced.list.node_of(id).what;
    kinds_seen.insert(what.index());
    if (auto const* elementwise = what.if_is<map>()) functions_seen.insert(static_cast<int>(elementwise->apply));
  }
}

/// Checks the second gradient of f(ops, inputs) by its first input, and by the others of the first gradient.
template <class F>
void check_twice(std::initializer_list<extents> shapes, F const& f, double tolerance = 1e-6) {
  check(
      shapes,
      [&](tracer& ops, tensors in) {
        tensor const y = f(ops, in);
        return ops.gradient(y, in[0],
                            {ops.iota(y.shape()) * 0.7F + y});  // upstream values, which depend on y themselves
      },
      tolerance);
}
template <class F>
void check_number(F const& f) {
  check_twice({{2, 3}}, [&](tracer&, tensors in) { return f(in[0]); });
}

windows const windows_with_padding(window::same(5, 3, 2), window{2, 1});

}  // namespace

TEST_CASE("functions of one number") {
  check_number([](tensor x) { return -x * x; });
  check_number([](tensor x) { return abs(x) * x; });
  check_number([](tensor x) { return exp(x); });
  check_number([](tensor x) { return log(x * x + 0.5F); });
  check_number([](tensor x) { return log1p(x * x); });
  check_number([](tensor x) { return softplus(x); });
  check_number([](tensor x) { return sqrt(x * x + 0.5F); });
  check_number([](tensor x) { return rsqrt(x * x + 0.5F); });
  check_number([](tensor x) { return sin(x) * cos(x); });
  check_number([](tensor x) { return atan(x); });
  check_number([](tensor x) { return tanh(x); });
  check_number([](tensor x) { return sigmoid(x); });
  check_number([](tensor x) { return erf(x); });
  check_number([](tensor x) { return floor(x) * x * x + sign(x) * x + round(x); });
}

TEST_CASE("functions of several numbers, broadcast") {
  auto const check_two = [](auto const& f) {
    check_twice({{2, 3, 4}, {3, 1}}, [&](tracer&, tensors in) { return f(in[0], in[1]); });
    check_twice({{4}, {2, 3, 1}}, [&](tracer&, tensors in) { return f(in[0], in[1]); });
  };
  check_two([](tensor a, tensor b) { return (a + b) * (a - b); });
  check_two([](tensor a, tensor b) { return a * b; });
  check_two([](tensor a, tensor b) { return a / (b * b + 1.0F); });
  check_two([](tensor a, tensor b) { return b / (a * a + 1.0F); });
  check_two([](tensor a, tensor b) { return pow(a * a + 1.0F, b); });
  check_two([](tensor a, tensor b) { return square(maximum(a, b)) + minimum(a, b) * a; });
  check_two([](tensor a, tensor b) { return where(a < b, a * a, b * 2.0F * a) + where(a >= 0.0F, b, 1.0F); });
  check_two([](tensor a, tensor b) { return fmod(a * 3.0F, b * b + 1.0F) * a; });
  check_two([](tensor a, tensor b) { return apply(function::multiply_add, a, b, a * a); });
  check_two([](tensor a, tensor b) { return apply(function::multiply_subtract, a, b, a * a); });
  check_two([](tensor a, tensor b) { return apply(function::negative_multiply_add, a, b, a * a); });
}

TEST_CASE("reductions") {
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.sum(in[0], {0, 2})); });
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) { return ops.mean(in[0], -2) * in[0]; });
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.max(in[0], {1, 2})); });
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) {
    return (in[0] - ops.mean(in[0], 1)) * rsqrt(ops.var(in[0], 1) + 1e-3F) + square(ops.min(in[0], -1));
  });
}

TEST_CASE("products: transposed, batched, broadcast") {
  for (bool const ta : {false, true})
    for (bool const tb : {false, true}) {
      extents const a = ta ? extents(2, 3, 4) : extents(2, 4, 3), b = tb ? extents(5, 3) : extents(2, 3, 5);
      check_twice({a, b}, [&](tracer& ops, tensors in) { return square(ops.matmul(in[0], in[1], {ta, tb})); });
    }
}

TEST_CASE("convolutions and their gradients") {
  windows const same(window::same(5, 3, 2), window::same(4, 2));
  check_twice({{2, 5, 4, 3}, {3, 2, 3, 2}},
              [&](tracer& ops, tensors in) { return tanh(ops.conv(in[0], in[1], same)); });
  windows const grouped(window{2, 1, 2, 1, 0});
  check_twice({{2, 6, 4}, {2, 2, 6}},
              [&](tracer& ops, tensors in) { return square(ops.conv(in[0], in[1], grouped, 2)); });
  check_twice({{2, 3, 4, 2}, {3, 2, 3, 2}},
              [&](tracer& ops, tensors in) { return square(ops.conv_transpose(in[0], in[1], same, {2, 5, 4, 3})); });
  check_twice({{2, 5, 4, 3}, {2, 3, 4, 2}}, [&](tracer& ops, tensors in) {
    return square(ops.append(convolution_filter_gradient{same}, {3, 2, 3, 2}, {in[0].id, in[1].id}));
  });
}

TEST_CASE("poolings") {
  for (bool const is_padded : {false, true}) {
    windows const over = is_padded ? windows_with_padding : windows(window{2, 2}, window{3, 1});
    check_twice({{2, 5, 4, 3}}, [&](tracer& ops, tensors in) { return square(ops.max_pool(in[0], over)); });
    check_twice({{2, 5, 4, 3}}, [&](tracer& ops, tensors in) { return square(ops.average_pool(in[0], over)); });
  }
  windows const dilated(window{2, 1, 2});
  check_twice({{2, 6, 3}}, [&](tracer& ops, tensors in) { return tanh(ops.max_pool(in[0], dilated)); });
}

TEST_CASE("the gradient of a max pooling is chosen where the pooling chose, also among equal ones") {
  trace traced = trace_call(
      [](tracer& ops, tensors in) {
        tensor const y = ops.max_pool(in[0], {window{2, 2}});
        return square(ops.gradient(y, in[0], {in[1]}));
      },
      std::array{extents(1, 4, 1), extents(1, 2, 1)});
  differentiate(traced);
  reference::interpreter run(traced.list.nodes, traced.list.operands);
  run[traced.inputs[0]] = {1, 1, -2, 3};
  run[traced.inputs[1]] = {5, 7};
  run[traced.seeds[0]] = {1, 10, 100, 1000};
  run.run(traced.list.size());
  CHECK(run[traced.outputs[0]] == std::vector<double>{25, 0, 0, 49});
  CHECK(run[traced.gradients[1]] == std::vector<double>{2 * 5 * 1, 2 * 7 * 1000});
}

TEST_CASE("movement") {
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.reshape(in[0], {4, 6})); });
  check_twice({{3, 1}}, [](tracer& ops, tensors in) { return square(ops.broadcast(in[0], {2, 3, 4})); });
  check_twice({{2, 3, 4}}, [](tracer& ops, tensors in) { return square(ops.transpose(in[0], {2, 0, 1})); });
  check_twice({{2, 7}}, [](tracer& ops, tensors in) { return square(ops.slice(in[0], -1, 1, 3, 2)); });
  check_twice({{2, 6}},
              [](tracer& ops, tensors in) { return ops.slice(square(in[0]), 1, 0, 3) * ops.slice(in[0], 1, 3, 3); });
  check_twice({{2, 3, 2}}, [](tracer& ops, tensors in) { return ops.flip(in[0], 1) * in[0]; });
  check_twice({{2, 3}}, [](tracer& ops, tensors in) { return square(ops.pad(in[0], 1, 2, 1)); });
  check_twice({{2, 3}, {2, 1}},
              [](tracer& ops, tensors in) { return square(ops.concatenate({in[0], in[1], in[0]}, 1)) * in[1]; });
}

TEST_CASE("rows taken by indices") {
  check_twice({{4, 3}}, [](tracer& ops, tensors in) { return square(ops.take(in[0], ops.iota({2, 3}) * 2.0F)); });
  check_twice({{2, 3}}, [](tracer& ops, tensors in) {
    return square(ops.append(scatter_add{}, {4, 3}, {in[0].id, ops.iota({2}).id}));
  });
}

TEST_CASE("composites: from inside, or by a rule of their own") {
  check_twice({{3, 4}}, [](tracer& ops, tensors in) { return square(ops.softmax(in[0])); });
  check_twice({{3, 4, 2}}, [](tracer& ops, tensors in) { return square(ops.softmax(in[0], 1)); });
  check_twice({{3, 4}}, [](tracer& ops, tensors in) { return square(ops.dropout(in[0], {3, 4}, 0.3F)); });
  check_twice({{5}}, [](tracer& ops, tensors in) {
    return ops.composite(
        "softplus", {in[0]}, [&] { return log(1.0F + exp(in[0])); },
        [](composite_gradient& g) { g.give(0, g.gradient() * sigmoid(g.read(0))); });
  });
  // Rows are normalized by a rule whose gradients read what is inside.
  check_twice({{3, 4}, {4}, {4}}, [](tracer& ops, tensors in) {
    return square(normalize_rows(ops, in[0], in[1], in[2], 1e-3F, 4)) + in[0] * 0.1F;
  });
  check_twice({{2, 2, 3}},
              [](tracer& ops, tensors in) { return tanh(normalize_rows(ops, in[0], {}, {}, 1e-3F, 6)) * in[0]; });
  // Channels are normalized by their statistics, whose part is in the gradient by x.
  check_twice({{3, 2, 4}, {4}, {4}}, [](tracer& ops, tensors in) {
    tensor const x = in[0], statistics = channel_statistics(ops, x);
    return square(normalize_channels(ops, x, statistics, in[1], in[2], 1e-3F)) + x * 0.1F;
  });
  check_twice({{5, 3}, {3}}, [](tracer& ops, tensors in) {
    tensor const x = in[0], statistics = channel_statistics(ops, x);
    return tanh(normalize_channels(ops, x, statistics, {}, in[1], 1e-3F)) * x + ops.slice(statistics, 0, 1, 1) * x;
  });
  check_twice({{4, 3}, {3}}, [](tracer& ops, tensors in) {
    return tanh(normalize_channels(ops, in[0], channel_statistics(ops, in[0]), in[1], {}, 1e-3F)) * in[0];
  });
  check_twice({{4, 3}}, [](tracer& ops, tensors in) {
    tensor const statistics = channel_statistics(ops, in[0]),
                 y = channel_statistics(ops, sigmoid(in[0] + ops.slice(statistics, 0, 0, 1)));
    return y * y + square(ops.slice(normalize_channels(ops, in[0], statistics, {}, {}, 1e-3F), 0, 0, 1));
  });
}

TEST_CASE("scans, forwards and backwards, of all states or the last one") {
  for (bool const reversed : {false, true})
    for (bool const only_last : {false, true}) {
      auto const rnn = [=](tracer& ops, tensors in) {
        tensor const kernel = in[2], recurrent = in[3];
        auto const step = [&](tensor x, std::array<tensor, 1> state) {
          return std::array{tanh(ops.matmul(x, kernel) + ops.matmul(state[0], recurrent))};
        };
        auto const run = ops.scan(in[0], 1, std::array{in[1]}, step, reversed);
        return only_last ? run.last[0] : run.all[0];
      };
      check_twice({{2, 4, 3}, {2, 2}, {3, 2}, {2, 2}}, rnn, 1e-5);
    }
}

TEST_CASE("a scan with two states, one of which reads the other, by its first state and by a weight") {
  auto const run = [](tracer& ops, tensors in) {
    auto const step = [&](tensor x, std::array<tensor, 2> state) {
      tensor const c = sigmoid(x + state[0]) * state[1] + ops.matmul(x, in[1]);
      return std::array{tanh(c), c};
    };
    return ops.scan(in[0], 1, std::array{in[2], in[2] * 0.5F}, step).last[0];
  };
  for (int const by : {0, 1, 2})
    check(
        {{2, 3, 4}, {4, 4}, {2, 4}}, [&](tracer& ops, tensors in) { return ops.gradient(run(ops, in), in[by]); }, 1e-5);
}

TEST_CASE("a third gradient") {
  check(
      {{2, 3}},
      [](tracer& ops, tensors in) {
        tensor const y = tanh(in[0] * in[0] * 0.3F);
        return ops.gradient(square(ops.gradient(square(ops.gradient(y, in[0])), in[0])), in[0]);
      },
      1e-5);
}

TEST_CASE("gradients by several tensors, and by what lies between") {
  check({{2, 3}, {3, 2}}, [](tracer& ops, tensors in) {
    tensor const h = tanh(ops.matmul(in[0], in[1])), y = square(h) * h;
    auto const [a, b, c] = ops.gradient(y, {in[0], in[1], h});
    return ops.matmul(a, b) * c;
  });
}

TEST_CASE("a gradient by random numbers and by what a stop_gradient gives, through neither of which training goes") {
  check({{2, 3}, {3, 3}}, [](tracer& ops, tensors in) {
    tensor const drawn = ops.normal({2, 3}), stopped = ops.stop_gradient(ops.normal({2, 3}));
    tensor const y = tanh(ops.matmul(drawn, in[1])) + tanh(ops.matmul(stopped, in[1]) * in[0]);
    auto const [a, b] = ops.gradient(y, {drawn, stopped});
    return a * in[0] + b;
  });
}

TEST_CASE("no way leads through a stop_gradient") {
  trace traced =
      trace_call([](tracer& ops, tensors in) { return ops.gradient(ops.stop_gradient(in[0] * in[0]) * in[0], in[0]); },
                 std::array{extents(3)});
  reference::interpreter run(traced.list.nodes, traced.list.operands);
  run[traced.inputs[0]] = {1, 2, 3};
  run.run(traced.list.size());
  CHECK(run[traced.outputs[0]] == std::vector<double>{1, 4, 9});
}

TEST_CASE("a Jacobian times a vector") {
  trace traced =
      trace_call([](tracer& ops, tensors in) { return ops.jvp(tanh(ops.matmul(in[0], in[1])), in[0], in[2]); },
                 std::array{extents(2, 3), extents(3, 2), extents(2, 3)});
  REQUIRE_MESSAGE(!traced.list.problem.failed(), traced.list.problem.text.view());
  reference::interpreter run(traced.list.nodes, traced.list.operands);
  std::vector<double> const x{0.1, -0.2, 0.3, 0.5, 0.4, -0.1}, w{1, 2, -1, 0.5, 0.3, 0.7}, v{1, 2, 3, -1, -2, 0.5};
  run[traced.inputs[0]] = x;
  run[traced.inputs[1]] = w;
  run[traced.inputs[2]] = v;
  run.run(traced.list.size());
  auto const value = [&](std::size_t row, std::size_t column, double step) {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k) sum += (x[row * 3 + k] + step * v[row * 3 + k]) * w[k * 2 + column];
    return std::tanh(sum);
  };
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t column = 0; column < 2; ++column)
      CHECK(run[traced.outputs[0]][row * 2 + column] ==
            doctest::Approx((value(row, column, 1e-6) - value(row, column, -1e-6)) / 2e-6).epsilon(1e-8));
}

namespace {

template <class Call>
void check_refused(std::string_view code, std::initializer_list<extents> shapes, Call const& call) {
  trace const traced = trace_call(call, std::span<extents const>(shapes.begin(), shapes.size()), true, "penalty");
  REQUIRE(traced.list.problem.failed());
  std::string_view const text = traced.list.problem.text.view();
  CHECK_MESSAGE(text.starts_with("layer 'penalty' asks "), text);
  CHECK_MESSAGE(text.find(code) != text.npos, text);
}

}  // namespace

TEST_CASE("gradients that are refused") {
  check_refused("E1195", {{3}, {3}}, [](tracer& ops, tensors in) { return ops.gradient(in[0] * 2.0F, in[1]); });
  check_refused("E1195", {{3}}, [](tracer& ops, tensors in) { return ops.gradient(ops.stop_gradient(in[0]), in[0]); });
  check_refused("E1195", {{3}}, [](tracer& ops, tensors in) { return ops.gradient(in[0], in[0] * 2.0F); });
  check_refused("E1196", {{2, 4, 3}}, [](tracer& ops, tensors in) {
    tensor const outside = ops.full({2, 3}, 1);
    return ops
        .scan(in[0], 1, std::array{outside},
              [&](tensor x, std::array<tensor, 1> state) {
                return std::array{ops.gradient(tanh(x * state[0] * outside), outside)};
              })
        .last[0];
  });
  check_refused("E1197", {{3, 2}},
                [](tracer& ops, tensors in) { return ops.gradient(ops.sum(in[0], 1), in[0], {ops.full({3, 2}, 1)}); });
}

TEST_CASE("a gradient inside a scan, by what the trip reads") {
  check({{2, 4, 3}, {2, 3}}, [](tracer& ops, tensors in) {
    return ops
        .scan(in[0], 1, std::array{in[1]},
              [&](tensor x, std::array<tensor, 1> state) {
                return std::array{ops.gradient(tanh(x * state[0]), x) + state[0]};
              })
        .all[0];
  });
}

// The last test of the file: doctest runs them in their order.
TEST_CASE("no kind of operation and no function that has a gradient is left out") {
  int const end = operation(whole_map{}).index();  // the last kind, of whole numbers, which have no gradients
  for (int kind = 0; kind < end; ++kind) {
    if (kind == operation(weight{}).index() || kind == operation(update{}).index()) continue;
    CAPTURE(kind);
    CHECK(kinds_seen.contains(kind));
  }
  for (int f = 0; f < function_count; ++f) {
    if (!is_differentiable(static_cast<function>(f))) continue;
    CAPTURE(f);
    CHECK(functions_seen.contains(f));
  }
}

}  // namespace stagecraft::operations
