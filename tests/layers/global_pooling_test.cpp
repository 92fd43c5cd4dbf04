// SPDX-License-Identifier: BSD-3-Clause
// Global pooling layers: shapes, defaults, errors.
#include "layer_rules.hpp"

#include <stagecraft/layers/layers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;  // NOLINT: as a program writes it

static_assert(!global_average_pooling2d{}.keepdims && !global_max_pooling1d{}.keepdims);
static_assert(rules_of(global_average_pooling2d{}, sc::shape(7, 5, 12)).gives({12}));
static_assert(rules_of(global_max_pooling2d{}, sc::shape(7, 5, 12)).gives({12}));
static_assert(rules_of(global_average_pooling2d{{.keepdims = true}}, sc::shape(7, 5, 12)).gives({1, 1, 12}));
static_assert(rules_of(global_max_pooling2d({.keepdims = true, .name = "g"}), sc::shape(7, 5, 12)).gives({1, 1, 12}));
static_assert(global_max_pooling2d({.keepdims = true, .name = "g"}).layer_name == "g");
static_assert(rules_of(global_average_pooling1d{}, sc::shape(7, 5)).gives({5}));
static_assert(rules_of(global_max_pooling1d{{.keepdims = true}}, sc::shape(7, 5)).gives({1, 5}));
static_assert(rules_of(global_average_pooling2d{}, sc::shape(7, 5, 12)).flops == 7 * 5 * 12 + 12);  // and the division
static_assert(rules_of(global_average_pooling2d{}, sc::shape(7, 5, 12)).weights.count == 0);
static_assert(rules_of(global_average_pooling2d{}, sc::shape(7, 5)).problem.code == 1041);
static_assert(rules_of(global_max_pooling1d{}, sc::shape(7, 5, 3))
                  .says("layer 'the_layer' expects an input of shape (steps, channels), but got (7, 5, 3) [E1041]"));
static_assert(rules_of(global_max_pooling1d{}, sc::shape(7, 5), sc::shape(7, 5)).problem.code == 1001);

TEST_CASE("what remains are the channels") {
  for (int channels = 1; channels < 20; ++channels)
    CHECK(rules_of(global_max_pooling2d{}, sc::shape(3, 5, channels)).gives({channels}));
}
