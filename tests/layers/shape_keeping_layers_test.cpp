// SPDX-License-Identifier: BSD-3-Clause
// Activation and dropout: the shape stays.
#include "layer_rules.hpp"

#include <stagecraft/layers/core/activation.hpp>
#include <stagecraft/layers/regularization/dropout.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::activation;
using sc::layers::dropout;

static_assert(sc::Layer<activation> && sc::Layer<dropout>);

static_assert(rules_of(activation{sc::relu}, sc::shape(4, 5)).gives({4, 5}));
static_assert(rules_of(activation{sc::relu}, sc::shape(4, 5)).weights.count == 0);
static_assert(rules_of(activation{sc::relu}, sc::shape(4, 5)).flops == 20);
static_assert(activation{sc::tanh}.function == sc::tanh);
static_assert(rules_of(activation{sc::relu}, sc::shape(4), sc::shape(4)).problem.code == 1001);

static_assert(rules_of(dropout{0.5}, sc::shape(4, 5)).gives({4, 5}));
static_assert(rules_of(dropout{0.0}, sc::shape(4)).gives({4}));
static_assert(dropout{0.25F, 7}.seed == 7 && dropout{0.25}.rate == 0.25F);
static_assert(rules_of(dropout{0.5, sc::shape{1, 5}}, sc::shape(4, 5)).gives({4, 5}));
static_assert(rules_of(dropout{0.5, sc::shape{1}}, sc::shape(4, 5)).problem.code == 1013);
static_assert(rules_of(dropout{0.5F, {1, 2}, 3}, sc::shape(4, 5))
                  .says("layer 'the_layer' has a noise_shape of (1, 2), but must have as many lengths as its input "
                        "(4, 5) has, each of them the input's or 1 [E1013]"));
static_assert(rules_of(dropout{1.0}, sc::shape(4)).problem.code == 1013);
static_assert(rules_of(dropout{-0.1}, sc::shape(4)).problem.code == 1013);
static_assert(rules_of(dropout{1.5}, sc::shape(4))
                  .says("layer 'the_layer' has a rate of 150 percent; it must be at least 0 and below 1 [E1013]"));

static_assert(rules_of(dropout{__builtin_nanf("")}, sc::shape(4)).problem.code == 1013);
static_assert(rules_of(dropout{-1e30F}, sc::shape(4)).problem.code == 1013);

TEST_CASE("a rate that is not a number is refused") {
  CHECK(rules_of(dropout{__builtin_nanf("")}, sc::shape(4)).problem.code == 1013);
}
