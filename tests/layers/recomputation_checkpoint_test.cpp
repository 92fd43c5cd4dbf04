// SPDX-License-Identifier: BSD-3-Clause
// A checkpoint changes neither shapes nor weights, and may be called again and again.
#include "layer_rules.hpp"

#include <stagecraft/layers/core/graphcore_layers.hpp>
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;

static_assert(sc::Layer<recomputation_checkpoint> && recomputation_checkpoint::is_view);
static_assert(recomputation_checkpoint::class_name == "RecomputationCheckpoint");

static_assert(rules_of(recomputation_checkpoint{}, sc::shape(7)).gives({7}));
static_assert(rules_of(recomputation_checkpoint{}, sc::shape(2, 3, 4)).gives({2, 3, 4}));
static_assert(rules_of(recomputation_checkpoint{}, sc::shape(7)).flops == 0);
static_assert(rules_of(recomputation_checkpoint{}, sc::shape(7)).weights.count == 0);
static_assert(rules_of(recomputation_checkpoint{}, sc::shape(7), sc::shape(7)).problem.code == 1001);

namespace {

/// One checkpoint with a name for two tensors, one with the name that Keras would give it.
struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto checkpoint = recomputation_checkpoint{}.named("kept");
    auto x = recomputation_checkpoint{}(dense(6)(model.input(4)));
    auto const a = checkpoint(dense(3)(x));
    auto const b = checkpoint(dense(3)(x));
    return add{}(a, b);
  }
};

constexpr auto const& graph = sc::graph_of<branches>;
constexpr int calls_of(std::string_view layer) {
  int count = 0;
  for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) count += graph.layer_of(i).name == layer ? 1 : 0;
  return count;
}

static_assert(calls_of("recomputation_checkpoint") == 1 && calls_of("kept") == 2);
static_assert(graph.calls.size() == 8 && graph.parameters.size() == 6);

/// Stages count it as any other call.
using stack =
    sc::sequential<input{4}, dense{8}, recomputation_checkpoint{}, dense{8}, recomputation_checkpoint{}, dense{2}>;
static_assert(sc::call_count<stack> == 6);
static_assert(sc::graph_of<stack>.layer_of(4).name == "recomputation_checkpoint_1");
using staged = sc::pipelined<stack, sc::stages<0, 0, 0, 1, 1>>;
static_assert(sc::is_pipelined<staged>);

}  // namespace

TEST_CASE("a checkpoint is a row of the summary without weights") {
  auto const& row = sc::models::summary_rows<stack>[3];
  CHECK(row.name == "recomputation_checkpoint_1");
  CHECK(row.class_name == "RecomputationCheckpoint");
  CHECK(row.output_shape() == sc::shape(8));
  CHECK(row.parameter_count == 0);
}
