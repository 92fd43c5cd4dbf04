// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/core/dense.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::dense;

static_assert(sc::Layer<dense>);
static_assert(rules_of(dense{10}, sc::shape(784)).gives({10}));
static_assert(rules_of(dense{10}, sc::shape(5, 7, 3)).gives({5, 7, 10}));  // over the last axis

// Weights in Keras's order, with Keras's defaults.
constexpr auto plain = rules_of(dense{10}, sc::shape(784));
static_assert(plain.weights.count == 2);
static_assert(plain.weights.entries[0].name == "kernel" && plain.weights.entries[0].shape == sc::shape(784, 10));
static_assert(plain.weights.entries[0].layout == sc::tracing::parameter_layout::matrix);
static_assert(plain.weights.entries[1].name == "bias" && plain.weights.entries[1].shape == sc::shape(10));
static_assert(plain.weights.entries[0].trainable && plain.weights.entries[1].trainable);
static_assert(plain.weights.entries[0].regularizer.l2 == 0.0F);
static_assert(plain.flops == 2 * 784 * 10 + 10);
static_assert(rules_of(dense{10}, sc::shape(5, 7, 3)).flops == 35 * (2 * 3 * 10 + 10));

constexpr dense chosen{4,
                       sc::relu,
                       {.use_bias = false,
                        .kernel_initializer = sc::initializers::he_normal{.seed = 3},
                        .kernel_regularizer = sc::regularizers::l2{0.5F},
                        .name = "chosen"}};
static_assert(chosen.activation == sc::relu && chosen.layer_name == "chosen");
static_assert(rules_of(chosen, sc::shape(8)).weights.count == 1);
static_assert(rules_of(chosen, sc::shape(8)).weights.entries[0].regularizer.l2 == 0.5F);
static_assert(rules_of(chosen, sc::shape(8)).weights.entries[0].initializer.seed == 3);
static_assert(rules_of(chosen, sc::shape(8)).flops == 2 * 8 * 4);
static_assert(dense{4}.activation == sc::linear && dense{4}.options.use_bias);

// Options in braces inside a template, where a compiler may know less of them.
template <class T>
constexpr dense in_template(T units) {
  return dense{units, {.bias_initializer = sc::initializers::ones{}, .name = "here"}};
}
static_assert(in_template(3).layer_name == "here" && in_template(3).activation == sc::linear);

static_assert(rules_of(dense{0}, sc::shape(8)).problem.code == 1012);
static_assert(rules_of(dense{-3}, sc::shape(8)).says("layer 'the_layer' has -3 units; it needs at least 1 [E1012]"));
static_assert(rules_of(dense{3}, sc::shape{}).problem.code == 1002);
static_assert(rules_of(dense{3}, sc::shape(8), sc::shape(8))
                  .says("layer 'the_layer' takes 1 input, but is called with 2 [E1001]"));

TEST_CASE("dense's rules hold at run time, too") {
  for (int units = 1; units < 20; ++units) {
    auto const found = rules_of(dense{units}, sc::shape(3, 5));
    CHECK(found.gives({3, units}));
    CHECK(found.weights.entries[0].size() == 5 * units);
  }
}
