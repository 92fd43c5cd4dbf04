// SPDX-License-Identifier: BSD-3-Clause
// Computations traced, differentiated and frozen by the compiler, and what it says of those that do not fit.
#include "reference.hpp"

#include <stagecraft/operations/frozen_trace.hpp>
#include <doctest/doctest.h>
#include <string_view>

namespace stagecraft::operations {

namespace {

using tensors = std::span<tensor const>;

template <auto Call, extents... Shapes>
constexpr auto traced_program() {
  return freeze<[] {
    extents const shapes[]{Shapes...};
    trace result = trace_call(Call, shapes);
    differentiate(result);
    return result;
  }>();
}

// A layer as its author writes it.
constexpr auto layer_normalization = [](tracer& ops, tensors in) {
  tensor const x = in[0], centred = x - ops.mean(x, -1);
  tensor const y = centred * rsqrt(ops.mean(square(centred), -1) + 1e-3F);
  stagecraft::shape const channels(x.length(-1));
  return y * ops.weight({.name = "gamma", .shape = channels}) + ops.weight({.name = "beta", .shape = channels});
};
constexpr auto normalized = traced_program<layer_normalization, extents(16, 32)>();

static_assert(!normalized.problem.failed());
static_assert(normalized.weights.size() == 2);
static_assert(normalized.weights[0].name == "gamma" && normalized.weights[1].name == "beta");
static_assert(normalized.outputs.size() == 1);
static_assert(normalized.nodes[static_cast<std::size_t>(normalized.outputs[0])].shape == extents(16, 32));
static_assert(normalized.gradients[0] >= normalized.forward_count);
static_assert(normalized.nodes[static_cast<std::size_t>(normalized.gradients[1])].shape == extents(32));

// Attention of four heads of eight, over a batch of two and six places.
constexpr auto attention = [](tracer& ops, tensors in) {
  tensor const x = in[0];
  int const batch = x.length(0), time = x.length(1), width = x.length(2), heads = 4, size = 8;
  auto const project = [&](std::string_view name) {
    tensor const kernel = ops.weight({.name = name, .shape = {width, heads * size}});
    return ops.transpose(ops.reshape(ops.matmul(x, kernel), {batch, time, heads, size}), {0, 2, 1, 3});
  };
  tensor const query = project("query"), key = project("key"), value = project("value");
  tensor const scores = ops.softmax(ops.matmul(query, key, {.transpose_b = true}) * 0.35355339F);
  return ops.reshape(ops.transpose(ops.matmul(scores, value), {0, 2, 1, 3}), {batch, time, heads * size});
};
constexpr auto attended = traced_program<attention, extents(2, 6, 12)>();
static_assert(!attended.problem.failed());
static_assert(attended.weights.size() == 3);
static_assert(attended.nodes[static_cast<std::size_t>(attended.outputs[0])].shape == extents(2, 6, 32));

/// What is said of `call` with inputs of these shapes.
template <class Call, class... Shapes>
constexpr stagecraft::diagnostic problem_of(Call const& call, Shapes const&... shapes) {
  extents const all[]{shapes...};
  return trace_call(call, all).list.problem;
}
constexpr auto says(stagecraft::diagnostic const& problem, std::string_view text) {
  return problem.code == 1070 && problem.text.view() == text;
}

static_assert(says(problem_of([](tracer&, tensors in) { return in[0] + in[1]; }, extents(2, 3), extents(2)),
                   "shapes (2, 3) and (2,) do not broadcast in 'add' [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.matmul(in[0], in[1]); }, extents(2, 3),
                              extents(4, 5)),
                   "a tensor of shape (2, 3) cannot be multiplied by (4, 5) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.reshape(in[0], {7}); }, extents(2, 3)),
                   "a tensor of shape (2, 3) cannot be reshaped to (7,) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.broadcast(in[0], {3}); }, extents(2, 3)),
                   "a tensor of shape (2, 3) cannot be broadcast to (3,) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.transpose(in[0], {0, 0}); }, extents(2, 3)),
                   "a tensor of shape (2, 3) cannot be transposed to (0, 0) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.slice(in[0], 1, 2, 2); }, extents(2, 3)),
                   "a tensor of shape (2, 3) has no slice of 2 from 2 along axis 1 [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.pad(in[0], 2, 1, 1); }, extents(2, 3)),
                   "a tensor of shape (2, 3) cannot be padded by 1 and 1 along axis 2 [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.concatenate({in[0], in[1]}); }, extents(2, 3),
                              extents(3, 3)),
                   "a tensor of shape (2, 3) cannot be concatenated with (3, 3) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.sum(in[0], 2); }, extents(2, 3)),
                   "a tensor of shape (2, 3) has no axis 2 [E1070]"));
static_assert(says(problem_of([](tracer&, tensors in) { return in[0] * static_cast<float>(in[0].length(5)); },
                              extents(2, 3)),
                   "axis 5 of a tensor of shape (2, 3) does not exist [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.conv(in[0], in[1], window{3}); },
                              extents(1, 8, 4), extents(3, 5, 2)),
                   "a tensor of shape (1, 8, 4) does not fit a filter of (3, 5, 2) [E1070]"));
static_assert(says(problem_of([](tracer& ops, tensors in) { return ops.max_pool(in[0], window{9}); }, extents(1, 8, 4)),
                   "a tensor of shape (1, 8, 4) does not fit the windows [E1070]"));
static_assert(says(problem_of(
                       [](tracer& ops, tensors in) {
                         ops.update(in[0], in[0]);
                         return in[0];
                       },
                       extents(2)),
                   "a tensor of shape (2,) is not a weight, and cannot be updated [E1070]"));
static_assert(says(problem_of(
                       [](tracer& ops, tensors in) {
                         auto const step = [&](tensor x, std::array<tensor, 1> state) {
                           return std::array{state[0] + x * ops.weight({.name = "w", .shape = {3}})};
                         };
                         return ops.scan(in[0], 0, std::array{ops.full({3}, 0)}, step).last[0];
                       },
                       extents(2, 3)),
                   "weight 'w' is made inside a scan; make it before the scan [E1070]"));
static_assert(says(problem_of(
                       [](tracer& ops, tensors in) {
                         auto const step = [](tensor x, std::array<tensor, 1> state) {
                           return std::array{state[0] + x};
                         };
                         return ops.scan(in[0], 0, std::array{ops.full({1}, 0)}, step).last[0];
                       },
                       extents(2, 3)),
                   "a tensor of shape (1,) is a state that becomes (3,) after a trip of a scan [E1070]"));

static_assert(window::same(5, 3, 2) == window{3, 2, 1, 1, 1});
static_assert(window::same(4, 2) == window{2, 1, 1, 0, 1});
static_assert(window::same(7, 3, 1, 2) == window{3, 1, 2, 2, 2});

}  // namespace

TEST_CASE("a frozen program gives the traced one's numbers") {
  // Its nodes may stand in another order: C++ does not say which operand of + is evaluated first.
  extents const shapes[]{extents(16, 32)};
  trace traced = trace_call(layer_normalization, shapes);
  differentiate(traced);
  REQUIRE(traced.list.nodes.size() == normalized.nodes.size());
  auto const gradient = [](auto const& nodes, auto const& operands, auto const& program) {
    reference::interpreter run(nodes, operands);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      node const& here = nodes[static_cast<std::size_t>(i)];
      if (here.what.is<weight>() || here.what.is<input>())
        for (int k = 0; k < here.shape.size(); ++k) run[i].push_back(k % 7 - 0.1 * (k % 11));
    }
    run.run(static_cast<int>(nodes.size()));
    return run[program.gradients[0]];
  };
  auto const compiled = gradient(normalized.nodes, normalized.operands, normalized);
  auto const at_run_time = gradient(traced.list.nodes, traced.list.operands, traced);
  for (std::size_t i = 0; i < compiled.size(); ++i)
    CHECK(compiled[i] == doctest::Approx(at_run_time[i]).epsilon(1e-12));
}

}  // namespace stagecraft::operations
