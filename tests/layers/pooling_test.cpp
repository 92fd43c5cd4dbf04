// SPDX-License-Identifier: BSD-3-Clause
// Pooling layers: shapes, defaults, names, errors.
#include "layer_rules.hpp"

#include <stagecraft/layers/pooling/pooling.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;  // NOLINT: as a program writes it

static_assert(sc::Layer<max_pooling2d> && sc::Layer<max_pooling1d>);
static_assert(sc::Layer<average_pooling2d> && sc::Layer<average_pooling1d>);

// Keras's defaults.
static_assert(max_pooling2d{}.pool_size == sc::size_2d(2, 2) && max_pooling2d{}.strides == sc::size_2d(2, 2));
static_assert(max_pooling2d{}.padding == sc::padding::valid && average_pooling2d{}.pool_size == sc::size_2d(2));
static_assert(max_pooling1d{}.pool_size == 2 && average_pooling1d{}.strides == 2);
static_assert(max_pooling2d{{2, 3}}.strides == sc::size_2d(2, 3) && max_pooling1d{5}.strides == 5);
static_assert(max_pooling2d{3, {.strides = 1}}.strides == sc::size_2d(1) && max_pooling2d{3, 2}.strides.width == 2);
static_assert(max_pooling2d{3, sc::size_2d{2, 1}}.strides == sc::size_2d(2, 1));
static_assert(max_pooling2d{3, {.strides = {1, 2}, .padding = sc::padding::same, .name = "p"}}.layer_name == "p");
static_assert(max_pooling1d{3, 2, {.padding = sc::padding::same}}.padding == sc::padding::same);

static_assert(rules_of(max_pooling2d{}, sc::shape(28, 28, 8)).gives({14, 14, 8}));
static_assert(rules_of(max_pooling2d{}, sc::shape(28, 28, 8)).flops == 14 * 14 * 8 * 4);
static_assert(rules_of(max_pooling2d{}, sc::shape(28, 28, 8)).weights.count == 0);
static_assert(rules_of(max_pooling2d{{2, 3}}, sc::shape(7, 7, 1)).gives({3, 2, 1}));
static_assert(rules_of(max_pooling2d{3, {.strides = 2}}, sc::shape(8, 9, 4)).gives({3, 4, 4}));
static_assert(rules_of(max_pooling2d{3, 2, {.padding = sc::padding::same}}, sc::shape(8, 9, 4)).gives({4, 5, 4}));
static_assert(rules_of(average_pooling2d{2, 1}, sc::shape(3, 3, 2)).gives({2, 2, 2}));
static_assert(rules_of(max_pooling1d{}, sc::shape(9, 3)).gives({4, 3}));
static_assert(
    rules_of(average_pooling1d{4, {.strides = 3, .padding = sc::padding::same}}, sc::shape(10, 3)).gives({4, 3}));
static_assert(rules_of(average_pooling1d{4}, sc::shape(10, 3)).flops == 2 * 3 * 4);

static_assert(rules_of(max_pooling2d{{2, 0}}, sc::shape(8, 8, 1))
                  .says("layer 'the_layer' has a pool size of (2, 0); each number must be at least 1 [E1040]"));
static_assert(rules_of(max_pooling1d{-1}, sc::shape(8, 1)).problem.code == 1040);
static_assert(rules_of(max_pooling2d{2, {.strides = {1, 0}}}, sc::shape(8, 8, 1)).problem.code == 1040);
static_assert(rules_of(max_pooling1d{2, -2}, sc::shape(8, 1))
                  .says("layer 'the_layer' has strides of -2; each number must be at least 1 [E1040]"));
static_assert(rules_of(max_pooling2d{}, sc::shape(8, 8))
                  .says("layer 'the_layer' expects an input of shape (height, width, channels), but got (8, 8) "
                        "[E1041]"));
static_assert(rules_of(average_pooling1d{}, sc::shape(8)).problem.code == 1041);
static_assert(rules_of(max_pooling2d{{2, 9}}, sc::shape(8, 8, 3))
                  .says("layer 'the_layer' has a pool size of (2, 9), which does not fit into an input of shape "
                        "(8, 8, 3) [E1042]"));
static_assert(rules_of(max_pooling2d{9, {.padding = sc::padding::same}}, sc::shape(8, 8, 3)).gives({1, 1, 3}));
static_assert(rules_of(max_pooling1d{2, {.padding = sc::padding::causal}}, sc::shape(8, 3)).problem.code == 1043);
static_assert(rules_of(max_pooling2d{}, sc::shape(8, 8, 3), sc::shape(8, 8, 3)).problem.code == 1001);

TEST_CASE("windows inside the input, or one output for each stride") {
  for (int length = 1; length < 20; ++length)
    for (int pool = 1; pool < 6; ++pool)
      for (int stride = 1; stride < 5; ++stride) {
        auto const inside = rules_of(max_pooling1d{pool, stride}, sc::shape(length, 2));
        CHECK(inside.problem.failed() == (pool > length));
        if (!inside.problem.failed()) CHECK(inside.gives({(length - pool) / stride + 1, 2}));
        auto const same = rules_of(max_pooling1d{pool, stride, {.padding = sc::padding::same}}, sc::shape(length, 2));
        CHECK(same.gives({(length + stride - 1) / stride, 2}));
      }
}
