// SPDX-License-Identifier: BSD-3-Clause
// depthwise_conv2d, separable_conv1d and separable_conv2d.
#include "layer_rules.hpp"

#include <stagecraft/layers/convolutional/separable_convolution.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::depthwise_conv2d, sc::layers::separable_conv1d, sc::layers::separable_conv2d;

static_assert(sc::Layer<depthwise_conv2d> && sc::Layer<separable_conv1d> && sc::Layer<separable_conv2d>);
constexpr sc::shape image(8, 8, 4), steps(8, 4);

// depthwise_conv2d
static_assert(rules_of(depthwise_conv2d{3}, image).gives({6, 6, 4}));
static_assert(rules_of(depthwise_conv2d{{3, 5}}, image).gives({6, 4, 4}));
static_assert(rules_of(depthwise_conv2d{3, {.depth_multiplier = 3}}, image).gives({6, 6, 12}));
static_assert(rules_of(depthwise_conv2d{3, {.strides = 2, .padding = sc::padding::same}}, image).gives({4, 4, 4}));
static_assert(rules_of(depthwise_conv2d{3, {.dilation_rate = {1, 2}}}, image).gives({6, 4, 4}));

constexpr auto depthwise = rules_of(depthwise_conv2d{{3, 5}, sc::relu, {.depth_multiplier = 2}}, image);
static_assert(depthwise.weights.count == 2);
static_assert(depthwise.weights.entries[0].name == "depthwise_kernel");
static_assert(depthwise.weights.entries[0].shape == sc::shape(3, 5, 4, 2));
static_assert(depthwise.weights.entries[0].layout == sc::tracing::parameter_layout::plain);
static_assert(depthwise.weights.entries[1].name == "bias" && depthwise.weights.entries[1].shape == sc::shape(8));
static_assert(depthwise.flops == 6 * 4 * 8 * (2 * 3 * 5 + 1));
static_assert(depthwise_conv2d{3}.activation == sc::linear && depthwise_conv2d{3}.options.use_bias);
static_assert(depthwise_conv2d{3}.options.depth_multiplier == 1 &&
              depthwise_conv2d{3, sc::relu}.activation == sc::relu);
static_assert(rules_of(depthwise_conv2d{3, {.use_bias = false}}, image).weights.count == 1);

static_assert(rules_of(depthwise_conv2d{0}, image).problem.code == 1031);
static_assert(rules_of(depthwise_conv2d{3, {.strides = 2, .dilation_rate = 2}}, image).problem.code == 1033);
static_assert(rules_of(depthwise_conv2d{9}, image).problem.code == 1034);
static_assert(rules_of(depthwise_conv2d{3}, sc::shape(2, 8, 8, 4))
                  .says("layer 'the_layer' expects an input of 3 axes, (height, width, channels), but got (2, 8, 8, 4) "
                        "[E1035]"));
static_assert(rules_of(depthwise_conv2d{3, {.depth_multiplier = 0}}, image)
                  .says("layer 'the_layer' has a depth multiplier of 0; it needs at least 1 [E1036]"));
static_assert(rules_of(depthwise_conv2d{3, {.padding = sc::padding::causal}}, image).problem.code == 1037);

// separable_conv2d
static_assert(rules_of(separable_conv2d{3, 3}, image).gives({6, 6, 3}));
static_assert(rules_of(separable_conv2d{3, {5, 1}, {.strides = {1, 2}}}, image).gives({4, 4, 3}));
constexpr auto separable = rules_of(separable_conv2d{3, {3, 5}, {.depth_multiplier = 2}}, image);
static_assert(separable.gives({6, 4, 3}) && separable.weights.count == 3);
static_assert(separable.weights.entries[0].name == "depthwise_kernel");
static_assert(separable.weights.entries[0].shape == sc::shape(3, 5, 4, 2));
static_assert(separable.weights.entries[0].layout == sc::tracing::parameter_layout::plain);
static_assert(separable.weights.entries[1].name == "pointwise_kernel");
static_assert(separable.weights.entries[1].shape == sc::shape(1, 1, 8, 3));
static_assert(separable.weights.entries[1].layout == sc::tracing::parameter_layout::matrix);
static_assert(separable.weights.entries[2].name == "bias" && separable.weights.entries[2].shape == sc::shape(3));
static_assert(separable.flops == 24 * (8 * 2 * 3 * 5 + 3 * (2 * 8 + 1)));
static_assert(separable_conv2d{3, 3, sc::relu, {.name = "chosen"}}.layer_name == "chosen");

static_assert(rules_of(separable_conv2d{0, 3}, image).problem.code == 1030);
static_assert(rules_of(separable_conv2d{3, 3, {.depth_multiplier = 0}}, image).problem.code == 1036);
static_assert(rules_of(separable_conv2d{3, 3}, steps).problem.code == 1035);
static_assert(rules_of(separable_conv2d{3, 3, {.padding = sc::padding::causal}}, image).problem.code == 1037);

// separable_conv1d
constexpr auto sequence = rules_of(separable_conv1d{3, 5, {.depth_multiplier = 2, .use_bias = false}}, steps);
static_assert(sequence.gives({4, 3}) && sequence.weights.count == 2);
static_assert(sequence.weights.entries[0].shape == sc::shape(5, 4, 2));
static_assert(sequence.weights.entries[1].shape == sc::shape(1, 8, 3));
static_assert(sequence.flops == 4 * (8 * 2 * 5 + 3 * 2 * 8));
static_assert(rules_of(separable_conv1d{3, 5, {.padding = sc::padding::causal}}, steps).gives({8, 3}));
static_assert(rules_of(separable_conv1d{3, 5}, image).problem.code == 1035);

TEST_CASE("a separable convolution has the shape of a convolution of its channels and one of width 1") {
  for (int length = 5; length < 20; ++length)
    for (int stride = 1; stride < 4; ++stride) {
      auto const both = rules_of(separable_conv2d{7, 5, {.strides = stride}}, sc::shape(length, 9, 2));
      auto const first = rules_of(depthwise_conv2d{5, {.strides = stride}}, sc::shape(length, 9, 2));
      CHECK(both.gives({first.output[0], first.output[1], 7}));
    }
}
