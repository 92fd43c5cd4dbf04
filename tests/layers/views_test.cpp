// SPDX-License-Identifier: BSD-3-Clause
// Flatten and reshape: another shape of the same elements.
#include "layer_rules.hpp"

#include <stagecraft/layers/reshaping/reshape.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::flatten;
using sc::layers::reshape;

static_assert(sc::Layer<flatten> && sc::Layer<reshape> && flatten::is_view && reshape::is_view);

static_assert(rules_of(flatten{}, sc::shape(28, 28)).gives({784}));
static_assert(rules_of(flatten{}, sc::shape(7)).gives({7}));
static_assert(rules_of(flatten{}, sc::shape(2, 3, 4, 5)).gives({120}));
static_assert(rules_of(flatten{}, sc::shape(7)).flops == 0 && rules_of(flatten{}, sc::shape(7)).weights.count == 0);
static_assert(rules_of(flatten{}, sc::shape(7), sc::shape(7)).problem.code == 1001);

static_assert(rules_of(reshape{2, 3, 8}, sc::shape(6, 8)).gives({2, 3, 8}));
static_assert(rules_of(reshape{-1}, sc::shape(6, 8)).gives({48}));
static_assert(rules_of(reshape{4, -1, 3}, sc::shape(6, 8)).gives({4, 4, 3}));
static_assert(rules_of(reshape{-1, 48}, sc::shape(6, 8)).gives({1, 48}));
static_assert(rules_of(reshape{sc::shape(3, 16)}, sc::shape(6, 8)).gives({3, 16}));

static_assert(rules_of(reshape{7}, sc::shape(6, 8)).problem.code == 1017);
static_assert(rules_of(reshape{5, -1}, sc::shape(6, 8)).problem.code == 1017);
static_assert(rules_of(reshape{-1, -1}, sc::shape(6, 8)).problem.code == 1017);  // one may be inferred
static_assert(rules_of(reshape{0, 48}, sc::shape(6, 8)).problem.code == 1017);
static_assert(rules_of(reshape{-2, -24}, sc::shape(6, 8)).problem.code == 1017);
static_assert(
    rules_of(reshape{5, 5}, sc::shape(6, 4))
        .says("layer 'the_layer' cannot give an input of shape (6, 4) (24 elements) the shape (5, 5) [E1017]"));

TEST_CASE("an inferred dimension keeps the number of elements") {
  for (int rows = 1; rows <= 48; ++rows) {
    auto const found = rules_of(reshape{rows, -1}, sc::shape(6, 8));
    CHECK(found.problem.failed() == (48 % rows != 0));
    if (!found.problem.failed()) CHECK(found.output.size() == 48);
  }
}
