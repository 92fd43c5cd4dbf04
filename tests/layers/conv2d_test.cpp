// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/convolutional/convolution.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::conv2d;

static_assert(sc::Layer<conv2d>);
constexpr sc::shape image(8, 8, 4);

static_assert(rules_of(conv2d{2, 3}, image).gives({6, 6, 2}));
static_assert(rules_of(conv2d{2, {1, 7}}, image).gives({8, 2, 2}));
static_assert(rules_of(conv2d{2, 8}, image).gives({1, 1, 2}));
static_assert(rules_of(conv2d{2, 3, {.strides = 2}}, image).gives({3, 3, 2}));
static_assert(rules_of(conv2d{2, 3, {.strides = {3, 1}}}, image).gives({2, 6, 2}));
static_assert(rules_of(conv2d{2, 3, {.dilation_rate = {2, 3}}}, image).gives({4, 2, 2}));
static_assert(rules_of(conv2d{2, 3, {.padding = sc::padding::same}}, image).gives({8, 8, 2}));
static_assert(rules_of(conv2d{2, 3, {.strides = {3, 4}, .padding = sc::padding::same}}, image).gives({3, 2, 2}));
static_assert(rules_of(conv2d{2, 11, {.padding = sc::padding::same, .dilation_rate = 4}}, image).gives({8, 8, 2}));
static_assert(rules_of(conv2d{2, 3}, sc::shape(5, 7, 8, 8, 4)).gives({5, 7, 6, 6, 2}));  // axes before the image

// Weights in Keras's order, with Keras's defaults.
constexpr conv2d simple{2, {3, 5}};
constexpr auto plain = rules_of(simple, image);
static_assert(plain.weights.count == 2);
static_assert(plain.weights.entries[0].name == "kernel" && plain.weights.entries[0].shape == sc::shape(3, 5, 4, 2));
static_assert(plain.weights.entries[0].layout == sc::tracing::parameter_layout::matrix);
static_assert(plain.weights.entries[0].groups == 1 && plain.weights.entries[0].trainable);
static_assert(plain.weights.entries[0].initializer == sc::initializer(sc::initializers::glorot_uniform{}));
static_assert(plain.weights.entries[1].name == "bias" && plain.weights.entries[1].shape == sc::shape(2));
static_assert(plain.weights.entries[1].initializer == sc::initializer(sc::initializers::zeros{}));
static_assert(plain.flops == 6 * 4 * 2 * (2 * 3 * 5 * 4 + 1));
static_assert(simple.options.strides == 1 && simple.options.dilation_rate == 1 && simple.options.groups == 1 &&
              simple.options.use_bias);
static_assert(simple.options.padding == sc::padding::valid && simple.activation == sc::linear);
static_assert(rules_of(simple, sc::shape(3, 8, 8, 4)).flops == 3 * plain.flops);

constexpr conv2d grouped{6,
                         3,
                         sc::relu,
                         {.groups = 2,
                          .use_bias = false,
                          .kernel_initializer = sc::initializers::he_normal{.seed = 3},
                          .kernel_regularizer = sc::regularizers::l2{0.5F},
                          .name = "chosen"}};
constexpr auto of_groups = rules_of(grouped, image);
static_assert(grouped.activation == sc::relu && grouped.layer_name == "chosen");
static_assert(of_groups.gives({6, 6, 6}) && of_groups.weights.count == 1);
static_assert(of_groups.weights.entries[0].shape == sc::shape(3, 3, 2, 6) && of_groups.weights.entries[0].groups == 2);
static_assert(of_groups.weights.entries[0].regularizer.l2 == 0.5F);
static_assert(of_groups.weights.entries[0].initializer.seed == 3);
static_assert(of_groups.flops == 36 * 6 * 2 * 9 * 2);

// Options in braces inside a template, where a compiler may know less of them.
template <class T>
constexpr bool made_in_a_template() {
  return conv2d{2, 3, sc::relu, {.strides = 2}}.options.strides == 2 &&
         conv2d{2, {3, 1}, {.name = "one"}}.layer_name == "one";
}
static_assert(made_in_a_template<int>());

static_assert(rules_of(conv2d{0, 3}, image).says("layer 'the_layer' has 0 filters; it needs at least 1 [E1030]"));
static_assert(rules_of(conv2d{2, {3, 0}}, image)
                  .says("layer 'the_layer' has a kernel of size (3, 0); each number must be at least 1 [E1031]"));
static_assert(rules_of(conv2d{2, 3, {.strides = 0}}, image)
                  .says("layer 'the_layer' has strides of (0, 0); each number must be at least 1 [E1031]"));
static_assert(rules_of(conv2d{2, 3, {.dilation_rate = {-1, 1}}}, image)
                  .says("layer 'the_layer' has a dilation rate of (-1, 1); each number must be at least 1 [E1031]"));
static_assert(
    rules_of(conv2d{6, 3, {.groups = 3}}, image)
        .says("layer 'the_layer' has 3 groups, which must divide the 4 channels of its input and its 6 filters "
              "[E1032]"));
static_assert(rules_of(conv2d{6, 3, {.groups = 4}}, image).problem.code == 1032);
static_assert(rules_of(conv2d{6, 3, {.groups = 0}}, image).problem.code == 1032);
static_assert(rules_of(conv2d{2, 3, {.strides = {2, 1}, .dilation_rate = {1, 2}}}, image)
                  .says("layer 'the_layer' has strides of (2, 1) and a dilation rate of (1, 2); one of them must be 1 "
                        "[E1033]"));
static_assert(rules_of(conv2d{2, {3, 9}}, image)
                  .says("layer 'the_layer' has a window of (3, 9), which does not fit into an input of (8, 8, 4) "
                        "[E1034]"));
static_assert(rules_of(conv2d{2, 3, {.dilation_rate = 4}}, image).problem.code == 1034);
static_assert(rules_of(conv2d{2, 3}, sc::shape(8, 8))
                  .says("layer 'the_layer' expects an input of at least 3 axes, (height, width, channels), but got "
                        "(8, 8) [E1035]"));
static_assert(rules_of(conv2d{2, 3, {.padding = sc::padding::causal}}, image)
                  .says("layer 'the_layer' has causal padding; only layers that convolve along one axis have that "
                        "[E1037]"));
static_assert(rules_of(conv2d{2, 3}, image, image).problem.code == 1001);

TEST_CASE("lengths with padding::same depend on the strides alone") {
  for (int length = 1; length < 20; ++length)
    for (int stride = 1; stride < 5; ++stride)
      for (int kernel = 1; kernel < 6; ++kernel) {
        auto const same = rules_of(conv2d{1, kernel, {.strides = stride, .padding = sc::padding::same}},
                                   sc::shape(length, 2 * length, 3));
        CHECK(same.gives({(length + stride - 1) / stride, (2 * length + stride - 1) / stride, 1}));
      }
}
