// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/layers/merging/concatenate.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::concatenate;

static_assert(sc::Layer<concatenate>);
static_assert(rules_of(concatenate{}, sc::shape(4), sc::shape(6)).gives({10}));
static_assert(rules_of(concatenate{}, sc::shape(2, 4), sc::shape(2, 6), sc::shape(2, 1)).gives({2, 11}));
static_assert(rules_of(concatenate{-2}, sc::shape(2, 4), sc::shape(3, 4)).gives({5, 4}));
static_assert(rules_of(concatenate{1}, sc::shape(2, 4), sc::shape(3, 4)).gives({5, 4}));  // the batch is axis 0
static_assert(rules_of(concatenate{}, sc::shape(4), sc::shape(6)).weights.count == 0);
static_assert(concatenate{}.axis == -1);

static_assert(rules_of(concatenate{}, sc::shape(4)).problem.code == 1001);
static_assert(rules_of(concatenate{0}, sc::shape(4), sc::shape(4)).problem.code == 1015);  // the batch
static_assert(rules_of(concatenate{2}, sc::shape(4), sc::shape(4)).problem.code == 1015);
static_assert(rules_of(concatenate{-2}, sc::shape(4), sc::shape(4)).problem.code == 1015);
static_assert(rules_of(concatenate{}, sc::shape(2, 4), sc::shape(3, 4)).problem.code == 1016);
static_assert(rules_of(concatenate{}, sc::shape(2, 4), sc::shape(4)).problem.code == 1016);
static_assert(rules_of(concatenate{1}, sc::shape(2, 4), sc::shape(2, 5))
                  .says("layer 'the_layer' joins along axis 1, so its inputs must agree in all others, but input 0 has "
                        "(2, 4) and input 1 has (2, 5) [E1016]"));

TEST_CASE("the axis is one of a shape without batch") {
  CHECK(concatenate{-1}.shape_axis({1, 2, 3}) == 2);
  CHECK(concatenate{3}.shape_axis({1, 2, 3}) == 2);
  CHECK(concatenate{1}.shape_axis({1, 2, 3}) == 0);
}
