// SPDX-License-Identifier: BSD-3-Clause
// Layers that add, remove or repeat positions: zero padding, cropping, up-sampling.
#include "layer_rules.hpp"

#include <stagecraft/layers/layers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;  // NOLINT: as a program writes it

// Keras's defaults and ways to write the numbers.
static_assert(zero_padding2d{}.padding == sc::border_2d(1) && cropping2d{}.cropping == sc::border_2d(0));
static_assert(zero_padding1d{}.padding == sc::border(1, 1) && cropping1d{}.cropping == sc::border(1, 1));
static_assert(zero_padding2d{3}.padding.columns == sc::border(3, 3));
static_assert(zero_padding2d{{1, 2}}.padding == sc::border_2d({1, 1}, {2, 2}));
static_assert(zero_padding2d{{{1, 2}, {3, 4}}}.padding == sc::border_2d({1, 2}, {3, 4}));
static_assert(cropping2d({{0, 1}, {2, 3}}).cropping.columns == sc::border(2, 3) &&
              cropping2d({1, 2}).cropping.rows.after == 1);
static_assert(zero_padding1d{{0, 2}}.padding == sc::border(0, 2) && cropping1d(2).cropping.total() == 4);

static_assert(rules_of(zero_padding2d{}, sc::shape(4, 5, 3)).gives({6, 7, 3}));
static_assert(rules_of(zero_padding2d{{{1, 2}, {3, 4}}}, sc::shape(4, 5, 3)).gives({7, 12, 3}));
static_assert(rules_of(zero_padding1d{{0, 2}}, sc::shape(4, 5)).gives({6, 5}));
static_assert(rules_of(cropping2d{}, sc::shape(4, 5, 3)).gives({4, 5, 3}));
static_assert(rules_of(cropping2d{{{1, 2}, {0, 4}}}, sc::shape(4, 5, 3)).gives({1, 1, 3}));
static_assert(rules_of(cropping1d{}, sc::shape(4, 5)).gives({2, 5}));
static_assert(rules_of(zero_padding2d{}, sc::shape(4, 5, 3)).flops == 0);
static_assert(rules_of(zero_padding2d{-1}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' has a padding of ((-1, -1), (-1, -1)); each number must be at least 0 "
                        "[E1044]"));
static_assert(rules_of(zero_padding1d{{0, -1}}, sc::shape(4, 5)).problem.code == 1044);
static_assert(rules_of(cropping1d{{0, -1}}, sc::shape(4, 5)).problem.code == 1044);
static_assert(rules_of(cropping2d{2}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' has a cropping of ((2, 2), (2, 2)), which leaves nothing of an input of "
                        "shape (4, 5, 3) [E1045]"));
static_assert(rules_of(cropping1d{{4, 0}}, sc::shape(4, 5)).problem.code == 1045);
static_assert(rules_of(zero_padding2d{}, sc::shape(4, 5)).problem.code == 1041);
static_assert(rules_of(zero_padding1d{}, sc::shape(4)).problem.code == 1041);
static_assert(rules_of(cropping2d{}, sc::shape(4, 5)).problem.code == 1041);
static_assert(rules_of(cropping1d{}, sc::shape(4)).problem.code == 1041);

static_assert(up_sampling2d{}.size == sc::size_2d(2) && up_sampling2d{}.interpolation == sc::interpolation::nearest);
static_assert(up_sampling2d({2, 3}).size.width == 3 && up_sampling1d{}.size == 2);
static_assert(rules_of(up_sampling2d{}, sc::shape(4, 5, 3)).gives({8, 10, 3}));
static_assert(rules_of(up_sampling2d{{1, 3}}, sc::shape(4, 5, 3)).gives({4, 15, 3}));
static_assert(rules_of(up_sampling2d{2, {.interpolation = sc::interpolation::bilinear}}, sc::shape(4, 5, 3)).flops ==
              3 * (2 + 4) * 60);
static_assert(rules_of(up_sampling1d{3}, sc::shape(4, 5)).gives({12, 5}));
static_assert(rules_of(up_sampling2d{{1, 0}}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' has a size of (1, 0); each number must be at least 1 [E1046]"));
static_assert(rules_of(up_sampling1d{0}, sc::shape(4, 5)).problem.code == 1046);
static_assert(rules_of(up_sampling2d{2147483647, {.interpolation = sc::interpolation::bilinear}}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' has a size of (2147483647, 2147483647); with bilinear interpolation each "
                        "number is at most 256 [E1046]"));
static_assert(rules_of(up_sampling2d{2147483647}, sc::shape(4, 5, 3)).problem.code == 1070);
static_assert(rules_of(up_sampling2d{256, {.interpolation = sc::interpolation::bilinear}}, sc::shape(8388608, 1, 1))
                  .problem.code == 1070);
static_assert(rules_of(up_sampling2d{}, sc::shape(4, 5)).problem.code == 1041);
static_assert(rules_of(up_sampling1d{}, sc::shape(4, 5, 3)).problem.code == 1041);

TEST_CASE("cropping takes away what padding of the same size adds") {
  for (int before = 0; before < 4; ++before)
    for (int after = 0; after < 4; ++after) {
      sc::border const ends(before, after);
      auto const padded = rules_of(zero_padding1d{ends}, sc::shape(5, 2));
      CHECK(rules_of(cropping1d{ends}, padded.output).gives({5, 2}));
    }
}
