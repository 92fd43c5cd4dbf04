// SPDX-License-Identifier: BSD-3-Clause
// Stages of equal work: against all cuts there are and against equal numbers of layers; what crosses a cut; errors.
#include "../../examples/models/resnet50.hpp"

#include <stagecraft/pipeline/even_pipeline.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <vector>

namespace sc = stagecraft;
using sc::detail::stage_problem;
using namespace sc::layers;

namespace {

/// The flops of a model's stage with the most.
template <class M>
constexpr long long highest_flops() {
  std::array<long long, 64> of_stage{};
  for (int const call : sc::graph_of<M>.order)
    of_stage[static_cast<std::size_t>(sc::detail::checked_stages<M>.stage(call))] += sc::graph_of<M>.call(call).flops;
  return *std::max_element(of_stage.begin(), of_stage.end());
}

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{16, sc::relu}, dense{16, sc::relu}, dense{3}>;
using two = sc::even_pipeline<mlp, 2>;
static_assert(sc::Model<two> && sc::pipeline_stages<two> == 2);
static_assert(sc::calls_of_stage<two, 0>.size() == 2 && sc::calls_of_stage<two, 1>.size() == 2);
static_assert(sc::pipeline_stages<sc::even_pipeline<mlp, 4>> == 4);
using on_one_device = sc::even_pipeline<mlp, 2, sc::device_mapping<0, 0>>;
static_assert(sc::device_of<on_one_device, 1> == 0);

// The result can be edited, and a model with stages divided anew.
using edited = sc::pipelined<two, [](auto& assignment) { assignment[1].pipeline_stage = 1; }>;
static_assert(sc::calls_of_stage<edited, 1>.size() == 3);
static_assert(sc::pipeline_stages<sc::even_pipeline<edited, 3>> == 3);

// What crosses a cut: a residual connection is a second tensor; outputs go on to the end; inputs come from the front.
struct residual : sc::functional<residual> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(4);
    auto const first = dense{8}(x);
    auto const second = dense{8}(first);
    auto const sum = add{}(first, second);
    return sc::outputs(dense{2}(sum), second);
  }
};
static_assert(sc::pipeline::linear_order_of<residual>.bytes_across == std::array{0LL, 32LL, 64LL, 64LL});
struct late_input : sc::functional<late_input> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(4), y = model.input(8);
    return add{}(dense{8}(dense{8}(x)), y);
  }
};
static_assert(sc::pipeline::linear_order_of<late_input>.bytes_across == std::array{0LL, 32LL + 32LL, 32LL + 32LL});

// Calls that share weights stay together, with all between them; calls of a layer without weights need not.
struct shared : sc::functional<shared> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    auto twice = dense{8};
    auto act = activation{sc::relu};
    x = act(dense{8}(x));
    x = twice(x);
    x = act(dense{8}(x));
    x = twice(x);
    return dense{8}(x);
  }
};
static_assert(sc::pipeline::linear_order_of<shared>.joined == std::array{false, false, false, true, true, true, false});
static_assert(sc::pipeline_stages<sc::even_pipeline<shared, 4>> == 4);

// ResNet-50: better than equal numbers of layers, and close to an equal share.
template <int Stages>
using even_resnet = sc::even_pipeline<resnet::resnet50, Stages>;
template <int Stages>
using counted_resnet = sc::pipelined<resnet::resnet50, [](auto& assignment) {
  for (std::size_t i = 0; i < assignment.size(); ++i)
    assignment[i].pipeline_stage = static_cast<int>(i * Stages / assignment.size());
}>;
static_assert(sc::pipeline_stages<even_resnet<2>> == 2 && sc::pipeline_stages<even_resnet<4>> == 4 &&
              sc::pipeline_stages<even_resnet<16>> == 16);
static_assert(highest_flops<even_resnet<2>>() < highest_flops<counted_resnet<2>>());
static_assert(highest_flops<even_resnet<4>>() < highest_flops<counted_resnet<4>>());
static_assert(highest_flops<even_resnet<16>>() < highest_flops<counted_resnet<16>>());
constexpr long long resnet_flops = [] {
  long long sum = 0;
  for (auto const& call : sc::graph_of<resnet::resnet50>.calls) sum += call.flops;
  return sum;
}();
static_assert(highest_flops<even_resnet<4>>() * 4 * 100 < resnet_flops * 103);
static_assert(highest_flops<counted_resnet<4>>() * 4 * 100 > resnet_flops * 110);

// Errors.
template <class M, int Stages>
constexpr int code_of =
    stage_problem<sc::pipeline::pipelined_model<M, sc::detail::even_stages<Stages>{}, sc::device_mapping<>>>.code;
static_assert(code_of<mlp, 4> == 0 && code_of<mlp, 5> == 2054 && code_of<mlp, 1> == 2054 && code_of<mlp, 0> == 2054);
static_assert(code_of<mlp, 65> == 2054 && code_of<shared, 4> == 0 && code_of<shared, 5> == 2054);
static_assert(
    stage_problem<sc::pipeline::pipelined_model<mlp, sc::detail::even_stages<2>{}, sc::device_mapping<0>>>.code ==
    2009);

/// The least flops of the fullest stage, by a dynamic program over all cuts.
template <class M>
long long least_flops(int stages) {
  auto const& graph = sc::graph_of<M>;
  std::size_t const count = graph.order.size();
  std::vector<long long> best(count + 1, 1LL << 62);
  best[0] = 0;
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<long long> next(count + 1, 1LL << 62);
    for (std::size_t end = 1; end <= count; ++end) {
      long long flops = 0;
      for (std::size_t begin = end; begin-- > 0;) {
        flops += graph.call(graph.order[begin]).flops;
        if (begin > 0 && sc::pipeline::linear_order_of<M>.joined[begin]) continue;
        next[end] = std::min(next[end], std::max(best[begin], flops));
      }
    }
    best = next;
  }
  return best[count];
}

}  // namespace

TEST_CASE("no other cuts leave the fullest stage less work") {
  CHECK(highest_flops<two>() == least_flops<mlp>(2));
  CHECK(highest_flops<sc::even_pipeline<mlp, 3>>() == least_flops<mlp>(3));
  CHECK(highest_flops<sc::even_pipeline<shared, 3>>() == least_flops<shared>(3));
  CHECK(highest_flops<even_resnet<2>>() == least_flops<resnet::resnet50>(2));
  CHECK(highest_flops<even_resnet<4>>() == least_flops<resnet::resnet50>(4));
  CHECK(highest_flops<even_resnet<16>>() == least_flops<resnet::resnet50>(16));
}
