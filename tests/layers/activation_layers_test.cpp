// SPDX-License-Identifier: BSD-3-Clause
// Activations that are layers of their own, and spatial dropout: the shape stays.
#include "layer_rules.hpp"

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using namespace sc::layers;  // NOLINT: as a program writes it

// Keras's defaults.
static_assert(re_lu{}.function() == sc::relu && leaky_re_lu{}.function() == sc::activations::relu(0.3F));
static_assert(elu_layer{}.function() == sc::elu && elu_layer{0.5}.function() == sc::activations::elu(0.5F));
static_assert(thresholded_re_lu{}.function() == sc::activations::relu(0, -1, 1));
static_assert(re_lu{6}.function() == sc::activations::relu(0, 6));
static_assert(re_lu{{.max_value = 3, .negative_slope = 0.5F, .threshold = 0.25F, .name = "r"}}.function() ==
              sc::activations::relu(0.5F, 3, 0.25F));
static_assert(re_lu({.negative_slope = 0.1F, .name = "r"}).layer_name == "r" && softmax_layer{}.axis == -1);

static_assert(rules_of(re_lu{}, sc::shape(4, 5)).gives({4, 5}) && rules_of(re_lu{}, sc::shape(4, 5)).flops == 20);
static_assert(rules_of(leaky_re_lu{}, sc::shape(4)).gives({4}) && rules_of(elu_layer{}, sc::shape(4)).gives({4}));
static_assert(rules_of(thresholded_re_lu{}, sc::shape(4)).gives({4}));
static_assert(
    rules_of(re_lu{{.negative_slope = -0.1F}}, sc::shape(4))
        .says("layer 'the_layer' has a negative_slope that is negative or not a number; it must be at least 0 "
              "[E1060]"));
static_assert(rules_of(re_lu{{.threshold = -0.1F}}, sc::shape(4)).problem.code == 1060);
static_assert(rules_of(thresholded_re_lu{-1}, sc::shape(4)).problem.code == 1060);
static_assert(rules_of(leaky_re_lu{__builtin_nanf("")}, sc::shape(4)).problem.code == 1060);
static_assert(rules_of(elu_layer{__builtin_nanf("")}, sc::shape(4)).problem.code == 1060);
static_assert(rules_of(re_lu{}, sc::shape(4), sc::shape(4)).problem.code == 1001);

static_assert(rules_of(softmax_layer{}, sc::shape(4, 5)).gives({4, 5}));
static_assert(rules_of(softmax_layer{1}, sc::shape(4, 5)).gives({4, 5}));
static_assert(softmax_layer{1}.shape_axis(sc::shape(4, 5)) == 0 && softmax_layer{-2}.shape_axis(sc::shape(4, 5)) == 0);
static_assert(
    rules_of(softmax_layer{3}, sc::shape(4, 5))
        .says("layer 'the_layer' works along axis 3, which is not an axis of an input of shape (4, 5); axis 0 "
              "is the batch, the last is 2 [E1061]"));
static_assert(rules_of(softmax_layer{0}, sc::shape(4, 5)).problem.code == 1061);
static_assert(rules_of(softmax_layer{-3}, sc::shape(4, 5)).problem.code == 1061);

constexpr auto slopes = rules_of(prelu{}, sc::shape(4, 5, 3));
static_assert(slopes.gives({4, 5, 3}) && slopes.weights.count == 1 && slopes.weights.entries[0].name == "alpha");
static_assert(slopes.weights.entries[0].shape == sc::shape(4, 5, 3));
static_assert(slopes.weights.entries[0].initializer == sc::initializer(sc::initializers::zeros{}));
constexpr auto shared = rules_of(prelu{{.alpha_initializer = sc::initializers::constant{0.25F},
                                        .alpha_regularizer = sc::regularizers::l2{0.5F},
                                        .shared_axes = {1, -2}}},
                                 sc::shape(4, 5, 3));
static_assert(shared.weights.entries[0].shape == sc::shape(1, 1, 3) &&
              shared.weights.entries[0].regularizer.l2 == 0.5F);
static_assert(rules_of(prelu{{.shared_axes = 4}}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' shares its slopes along axis 4, which is not an axis of an input of shape "
                        "(4, 5, 3); axis 0 is the batch, the last is 3 [E1062]"));
static_assert(rules_of(prelu{{.shared_axes = 0}}, sc::shape(4, 5, 3)).problem.code == 1062);

static_assert(rules_of(spatial_dropout2d{0.5}, sc::shape(4, 5, 3)).gives({4, 5, 3}));
static_assert(rules_of(spatial_dropout1d{0.25F, 7}, sc::shape(5, 3)).gives({5, 3}));
static_assert(spatial_dropout1d{0.25F, 7}.seed == 7 && spatial_dropout2d{0}.rate == 0);
static_assert(rules_of(spatial_dropout2d{1.5}, sc::shape(4, 5, 3))
                  .says("layer 'the_layer' has a rate of 150 percent; it must be at least 0 and below 1 [E1013]"));
static_assert(rules_of(spatial_dropout1d{__builtin_nanf("")}, sc::shape(4, 5)).problem.code == 1013);
static_assert(rules_of(spatial_dropout2d{0.5}, sc::shape(4, 5)).problem.code == 1041);
static_assert(rules_of(spatial_dropout1d{0.5}, sc::shape(4)).problem.code == 1041);

TEST_CASE("every axis but the batch can be shared") {
  sc::shape const in(2, 3, 4);
  for (int axis = -3; axis <= 3; ++axis) {
    auto const found = rules_of(prelu{{.shared_axes = axis}}, in);
    CHECK(found.problem.failed() == (axis == 0));
    if (axis == 0) continue;
    auto expected = in;
    expected[axis < 0 ? 3 + axis : axis - 1] = 1;
    CHECK(found.weights.entries[0].shape == expected);
  }
}
