// SPDX-License-Identifier: BSD-3-Clause
// Planning a pipeline without running anything: a model of fifty layers is given stages by ordinary code that edits its
// assignment, and the compiler checks them. Needs neither xtensor nor xsimd.
#include <stagecraft/pipeline.hpp>
#include <cstdio>
#include <cstring>

namespace sc = stagecraft;
using namespace sc::layers;

constexpr auto block(auto& model, auto x, int group, int index, int units) {
  auto const name = [&](char const* part) {
    sc::fixed_name text("group");
    return text.append(group).append("_block").append(index).append(part);
  };
  auto y = dense(units, sc::relu).named(name("_1"))(x);
  y = dense(units).named(name("_2"))(y);
  if (x.shape() != y.shape()) x = dense(units).named(name("_0"))(x);
  (void)model;
  return add{}.named(name("_add"))(x, y);
}

struct tower : sc::functional<tower> {
  static constexpr auto build(auto& model) {
    auto x = model.input(64);
    for (int group = 1; group <= 4; ++group)
      for (int index = 1; index <= 4; ++index) x = block(model, x, group, index, 64 * group);
    return dense(10)(x);
  }
};

// Everything up to group 2's second block is stage 0, the rest is stage 1.
using split = sc::pipelined<tower, [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.layer_name() == "group2_block2_add") stage = 1;
  }
}>;

static_assert(sc::pipeline_stages<split> == 2);

/// The work of one stage, in FLOPs per sample.
template <class Model, int Stage>
constexpr long long work = [] {
  long long sum = 0;
  for (int const call : sc::calls_of_stage<Model, Stage>) sum += sc::graph_of<Model>.call(call).flops;
  return sum;
}();

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) {
    std::puts("Prints the stages of a model that the compiler has checked. Takes no other argument.");
    return 0;
  }
  sc::print_pipeline_stage_assignment_summary<split>();
  std::printf("stage 0: %lld FLOPs per sample, stage 1: %lld\n", work<split, 0>, work<split, 1>);
}
