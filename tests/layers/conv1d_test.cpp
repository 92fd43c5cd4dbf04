// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/layers/convolutional/convolution.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::conv1d;

static_assert(sc::Layer<conv1d>);
constexpr sc::shape steps(8, 4);

static_assert(rules_of(conv1d{2, 3}, steps).gives({6, 2}));
static_assert(rules_of(conv1d{2, 3, {.strides = 2}}, steps).gives({3, 2}));
static_assert(rules_of(conv1d{2, 3, {.dilation_rate = 2}}, steps).gives({4, 2}));
static_assert(rules_of(conv1d{2, 3, {.padding = sc::padding::same}}, steps).gives({8, 2}));
static_assert(rules_of(conv1d{2, 3, {.padding = sc::padding::causal}}, steps).gives({8, 2}));
static_assert(rules_of(conv1d{2, 3, {.strides = 2, .padding = sc::padding::causal}}, steps).gives({4, 2}));
static_assert(rules_of(conv1d{2, 3, {.padding = sc::padding::causal, .dilation_rate = 2}}, steps).gives({8, 2}));
static_assert(rules_of(conv1d{2, 3}, sc::shape(5, 8, 4)).gives({5, 6, 2}));  // an axis before the steps

constexpr auto plain = rules_of(conv1d{6, 3}, steps);
static_assert(plain.weights.count == 2);
static_assert(plain.weights.entries[0].name == "kernel" && plain.weights.entries[0].shape == sc::shape(3, 4, 6));
static_assert(plain.weights.entries[0].layout == sc::tracing::parameter_layout::matrix);
static_assert(plain.weights.entries[1].name == "bias" && plain.weights.entries[1].shape == sc::shape(6));
static_assert(plain.flops == 6 * 6 * (2 * 3 * 4 + 1));
constexpr auto grouped = rules_of(conv1d{6, 3, sc::tanh, {.groups = 2, .use_bias = false}}, steps);
static_assert(grouped.weights.count == 1 && grouped.weights.entries[0].shape == sc::shape(3, 2, 6));
static_assert(grouped.weights.entries[0].groups == 2 && grouped.flops == 6 * 6 * 2 * 3 * 2);

static_assert(rules_of(conv1d{-1, 3}, steps).problem.code == 1030);
static_assert(rules_of(conv1d{2, 0}, steps)
                  .says("layer 'the_layer' has a kernel of size 0; each number must be at least 1 [E1031]"));
static_assert(rules_of(conv1d{2, 3, {.strides = 0}}, steps).problem.code == 1031);
static_assert(rules_of(conv1d{2, 3, {.dilation_rate = 0}}, steps).problem.code == 1031);
static_assert(rules_of(conv1d{3, 3, {.groups = 2}}, steps).problem.code == 1032);
static_assert(rules_of(conv1d{2, 3, {.strides = 2, .dilation_rate = 2}}, steps).problem.code == 1033);
static_assert(rules_of(conv1d{2, 5, {.dilation_rate = 2}}, steps)
                  .says("layer 'the_layer' has a window of 9 steps, which does not fit into an input of (8, 4) "
                        "[E1034]"));
static_assert(rules_of(conv1d{2, 3}, sc::shape(8))
                  .says("layer 'the_layer' expects an input of at least 2 axes, (steps, channels), but got (8,) "
                        "[E1035]"));

constexpr conv1d keeping{6, 3, {.padding = sc::padding::causal, .dilation_rate = 2, .stateful = true}};
constexpr auto kept = rules_of(keeping, steps);
static_assert(kept.gives({8, 6}) && kept.weights.count == 3 && kept.flops == 8 * 6 * (2 * 3 * 4 + 1));
static_assert(kept.weights.entries[0].name == "states_0" && kept.weights.entries[0].between_batches);
static_assert(kept.weights.entries[0].shape == sc::shape(1, 4, 4));  // of one sample
static_assert(kept.weights.entries[1].layout == sc::tracing::parameter_layout::plain);
static_assert(rules_of(keeping, sc::shape(5, 1, 4)).gives({5, 1, 6}));
static_assert(rules_of(conv1d{6, 3, {.stateful = true}}, steps).problem.code == 1151);
static_assert(rules_of(conv1d{6, 3, {.strides = 3, .padding = sc::padding::causal, .stateful = true}}, steps)
                  .problem.code == 1152);

TEST_CASE("causal padding gives as many outputs as padding::same") {
  for (int length = 1; length < 20; ++length)
    for (int kernel = 1; kernel < 6; ++kernel) {
      auto const causal = rules_of(conv1d{1, kernel, {.padding = sc::padding::causal}}, sc::shape(length, 3));
      CHECK(causal.gives({length, 1}));
    }
}
