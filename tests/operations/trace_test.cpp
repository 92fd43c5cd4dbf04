// SPDX-License-Identifier: BSD-3-Clause
// Computations traced, differentiated and frozen by the compiler, and what it says of those that do not fit.
#include "reference.hpp"

#include <stagecraft/operations/plan/traced_plan.hpp>
#include <algorithm>
#include <doctest/doctest.h>
#include <string_view>

namespace stagecraft::operations {

namespace {

using tensors = std::span<tensor const>;

/// Traced and differentiated.
template <auto Call, extents... Shapes>
constexpr trace traced_program() {
  extents const shapes[]{Shapes...};
  trace result = trace_call(Call, shapes);
  differentiate(result);
  return result;
}
constexpr bool has_weights(trace const& traced, std::initializer_list<std::string_view> names) {
  return std::ranges::equal(traced.weights, names, {}, [](parameter const& of) { return of.name.view(); });
}
constexpr extents shape_of(trace const& traced, int id) { return traced.list.node_of(id).shape; }

// A layer as its author writes it.
constexpr auto layer_normalization = [](tracer& ops, tensors in) {
  tensor const x = in[0], centred = x - ops.mean(x, -1);
  tensor const y = centred * rsqrt(ops.mean(square(centred), -1) + 1e-3F);
  stagecraft::shape const channels(x.length(-1));
  return y * ops.weight({.name = "gamma", .shape = channels}) + ops.weight({.name = "beta", .shape = channels});
};
static_assert([] {
  trace const normalized = traced_program<layer_normalization, extents(16, 32)>();
  return !normalized.list.problem.failed() && has_weights(normalized, {"gamma", "beta"}) &&
         normalized.outputs.size() == 1 && shape_of(normalized, normalized.outputs[0]) == extents(16, 32) &&
         normalized.gradients[0] >= normalized.forward_count &&
         shape_of(normalized, normalized.gradients[1]) == extents(32);
}());

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
static_assert([] {
  trace const attended = traced_program<attention, extents(2, 6, 12)>();
  return !attended.list.problem.failed() && has_weights(attended, {"query", "key", "value"}) &&
         shape_of(attended, attended.outputs[0]) == extents(2, 6, 32);
}());

/// What is said of `call` with inputs of these shapes.
template <class Call, class... Shapes>
constexpr stagecraft::diagnostics::diagnostic problem_of(Call const& call, Shapes const&... shapes) {
  extents const all[]{shapes...};
  return trace_call(call, all).list.problem;
}
constexpr auto says(stagecraft::diagnostics::diagnostic const& problem, std::string_view text) {
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

TEST_CASE("a frozen plan gives the traced one's numbers") {
  static constexpr auto plan = [] {
    return traced_plan(traced_program<layer_normalization, extents(16, 32)>(), false);
  };
  constexpr auto const& frozen = stagecraft::detail::frozen_draft<decltype(plan)>;
  auto const traced = plan();
  // The nodes may stand in another order: C++ does not say which operand of + is evaluated first.
  REQUIRE(frozen.nodes.size() == traced.traced.list.nodes.size());
  auto const gradient = [](auto const& nodes, auto const& operands, auto const& gradients) {
    reference::interpreter run(nodes, operands);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      node const& here = nodes[static_cast<std::size_t>(i)];
      if (here.what.is<weight>() || here.what.is<input>())
        for (int k = 0; k < here.shape.size(); ++k) run[i].push_back(k % 7 - 0.1 * (k % 11));
    }
    run.run(static_cast<int>(nodes.size()));
    return run[gradients[0]];
  };
  auto const compiled = gradient(frozen.nodes, frozen.operands, frozen.gradients);
  auto const at_run_time = gradient(traced.traced.list.nodes, traced.traced.list.operands, traced.traced.gradients);
  for (std::size_t i = 0; i < compiled.size(); ++i)
    CHECK(compiled[i] == doctest::Approx(at_run_time[i]).epsilon(1e-12));
}

}  // namespace stagecraft::operations
