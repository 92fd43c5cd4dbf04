// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/layers/convolutional/convolution.hpp>
#include <stagecraft/layers/convolutional/transposed_convolution.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::conv2d, sc::layers::conv2d_transpose;

static_assert(sc::Layer<conv2d_transpose>);
constexpr sc::shape image(8, 8, 4);
constexpr auto same = sc::padding::same;

// What Keras gives.
static_assert(rules_of(conv2d_transpose{2, 3}, image).gives({10, 10, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2}}, image).gives({17, 17, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .output_padding = 0}}, image).gives({17, 17, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .output_padding = 1}}, image).gives({18, 18, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .padding = same}}, image).gives({16, 16, 2}));
static_assert(
    rules_of(conv2d_transpose{2, 3, {.strides = 2, .padding = same, .output_padding = 0}}, image).gives({15, 15, 2}));
static_assert(
    rules_of(conv2d_transpose{2, 3, {.strides = 2, .padding = same, .output_padding = 1}}, image).gives({16, 16, 2}));
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 3}}, image).gives({24, 24, 2}));
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 3, .output_padding = 0}}, image).gives({23, 23, 2}));
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 3, .output_padding = 2}}, image).gives({25, 25, 2}));
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 3, .padding = same}}, image).gives({24, 24, 2}));
static_assert(
    rules_of(conv2d_transpose{2, 1, {.strides = 3, .padding = same, .output_padding = 2}}, image).gives({24, 24, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.dilation_rate = 2}}, image).gives({12, 12, 2}));
static_assert(rules_of(conv2d_transpose{2, 3, {.padding = same, .dilation_rate = 2}}, image).gives({8, 8, 2}));
static_assert(rules_of(conv2d_transpose{2, {3, 5}, {.strides = {1, 2}}}, image).gives({10, 19, 2}));

constexpr auto plain = rules_of(conv2d_transpose{2, {3, 5}, sc::relu}, image);
static_assert(plain.weights.count == 2);
static_assert(plain.weights.entries[0].name == "kernel" && plain.weights.entries[0].shape == sc::shape(3, 5, 2, 4));
static_assert(plain.weights.entries[0].layout == sc::tracing::parameter_layout::matrix);
static_assert(plain.weights.entries[1].name == "bias" && plain.weights.entries[1].shape == sc::shape(2));
static_assert(plain.flops == 2LL * 3 * 5 * 2 * 8 * 8 * 4 + 10 * 12 * 2);
static_assert(conv2d_transpose{2, 3}.options.output_padding == sc::layers::conv2d_transpose_options::no_output_padding);

static_assert(rules_of(conv2d_transpose{0, 3}, image).problem.code == 1030);
static_assert(rules_of(conv2d_transpose{2, 0}, image).problem.code == 1031);
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .dilation_rate = 2}}, image).problem.code == 1033);
static_assert(rules_of(conv2d_transpose{2, 3}, sc::shape(2, 8, 8, 4)).problem.code == 1035);
static_assert(rules_of(conv2d_transpose{2, 3, {.padding = sc::padding::causal}}, image).problem.code == 1037);
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .output_padding = 2}}, image)
                  .says("layer 'the_layer' has an output padding of (2, 2), which must be at least 0 and less than its "
                        "strides of (2, 2) [E1038]"));
static_assert(rules_of(conv2d_transpose{2, 3, {.strides = 2, .output_padding = {1, -1}}}, image).problem.code == 1038);
static_assert(rules_of(conv2d_transpose{2, 3, {.output_padding = 1}}, image).problem.code == 1038);
// TensorFlow: "Size of out_backprop doesn't match computed".
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 2, .padding = same, .output_padding = 0}}, image)
                  .gives({14, 14, 2}) == false);
static_assert(rules_of(conv2d_transpose{2, 2, {.strides = 3, .padding = same, .output_padding = 0}}, image)
                  .says("layer 'the_layer' has an output padding of (0, 0), which makes an output of (21, 21); a "
                        "convolution leads from there to another shape than (8, 8, 4) [E1038]"));

TEST_CASE("a convolution with the same options leads back") {
  for (int length = 1; length < 12; ++length)
    for (int stride = 1; stride < 4; ++stride)
      for (int kernel = 1; kernel < 6; ++kernel)
        for (auto const padding : {sc::padding::valid, sc::padding::same})
          for (int extra = -1; extra < stride; ++extra) {
            auto const there =
                rules_of(conv2d_transpose{3, kernel, {.strides = stride, .padding = padding, .output_padding = extra}},
                         sc::shape(length, length, 2));
            CHECK((!there.problem.failed() || (padding == same && extra >= 0)));
            if (there.problem.failed()) continue;
            auto const back = rules_of(conv2d{2, kernel, {.strides = stride, .padding = padding}}, there.output);
            CHECK(back.gives({length, length, 2}));
          }
}
