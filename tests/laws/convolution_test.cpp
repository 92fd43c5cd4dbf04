// SPDX-License-Identifier: BSD-3-Clause
#include "model_laws.hpp"

#include "call_check.hpp"

namespace {

constexpr auto same = sc::padding::same, causal = sc::padding::causal;

/// The layer between two others, so that the gradient of its input counts.
template <input Input, auto Layer>
void check() {
  constexpr int channels = Input.dimensions.back();
  laws::check_calls<sc::sequential<Input, dense{channels, sc::tanh}, Layer>>();
}

/// A convolution called twice, a shortcut, and a tensor that two convolutions read.
struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    auto x = conv2d{3, 2}(model.input(4, 4, 2));
    conv2d shared{3, 3, sc::tanh, {.padding = same}};
    auto y = add{}(x, shared(shared(x)));
    auto z = depthwise_conv2d{2, {.strides = 2, .padding = same}}(y);
    return concatenate{}(separable_conv2d{2, 1}(z), conv2d_transpose{2, 1}(z), z);
  }
};

/// One layer of each kind, called twice, so that gradients are added to.
template <auto Layer>
struct shared : sc::functional<shared<Layer>> {
  static constexpr auto build(auto& model) {
    auto x = dense{3, sc::sigmoid}(model.input(3, 4, 3));
    auto layer = Layer;
    return add{}(x, layer(layer(x)));
  }
};

/// A model in a model, as in residual networks.
struct block : sc::functional<block> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4, 4, 2);
    return add{}(conv2d{3, 1, {.strides = 2}}(x), conv2d{3, 3, sc::swish, {.strides = 2, .padding = same}}(x));
  }
};
using tower =
    sc::sequential<input{4, 4, 2}, conv2d{2, 3, sc::sigmoid, {.padding = same}}, block{}, flatten{}, dense{2}>;

}  // namespace

TEST_CASE("conv2d") {
  check<input{3, 4, 2}, conv2d{3, 2}>();
  check<input{5, 4, 2}, conv2d{2, {3, 2}, sc::relu, {.strides = {2, 3}, .padding = same}}>();
  check<input{4, 5, 2}, conv2d{2, 2, sc::gelu, {.dilation_rate = {1, 3}, .use_bias = false}}>();
  check<input{3, 3, 2}, conv2d{4, 1, sc::softmax, {.strides = 2}}>();
  check<input{3, 3, 4}, conv2d{6, 2, sc::tanh, {.padding = same, .groups = 2}}>();
  check<input{2, 2, 1}, conv2d{19, 2}>();
  check<input{2, 2, 3, 2}, conv2d{3, 2, {.padding = same}}>();
}

TEST_CASE("conv1d") {
  check<input{5, 2}, conv1d{3, 3, {.padding = causal}}>();
  check<input{6, 2}, conv1d{3, 2, sc::swish, {.strides = 2}}>();
  check<input{6, 4}, conv1d{2, 2, {.padding = same, .dilation_rate = 2, .groups = 2}}>();
  check<input{2, 4, 2}, conv1d{3, 2, sc::elu}>();
}

TEST_CASE("depthwise_conv2d") {
  check<input{4, 3, 2}, depthwise_conv2d{2, sc::tanh}>();
  check<input{5, 6, 3}, depthwise_conv2d{3, {.strides = {1, 2}, .padding = same}}>();
  check<input{4, 3, 2}, depthwise_conv2d{2, sc::gelu, {.depth_multiplier = 3, .dilation_rate = 2}}>();
  check<input{3, 3, 2}, depthwise_conv2d{{2, 1}, sc::softmax, {.depth_multiplier = 2, .use_bias = false}}>();
}

TEST_CASE("separable_conv1d and separable_conv2d") {
  check<input{4, 3, 2}, separable_conv2d{3, 2}>();
  check<input{4, 5, 2}, separable_conv2d{2, 3, sc::gelu, {.strides = 2, .padding = same, .depth_multiplier = 2}}>();
  check<input{3, 3, 2}, separable_conv2d{3, 2, sc::softmax, {.use_bias = false}}>();
  check<input{5, 2}, separable_conv1d{3, 2, sc::tanh, {.padding = causal, .dilation_rate = 2}}>();
}

TEST_CASE("conv2d_transpose") {
  check<input{3, 2, 2}, conv2d_transpose{3, 2}>();
  check<input{2, 3, 2}, conv2d_transpose{2, 3, sc::tanh, {.strides = 2, .padding = same}}>();
  check<input{2, 2, 3}, conv2d_transpose{2, 3, sc::gelu, {.strides = {3, 2}, .output_padding = {2, 1}}}>();
  check<input{2, 3, 2}, conv2d_transpose{3, 2, sc::softmax, {.dilation_rate = 2, .use_bias = false}}>();
}

TEST_CASE("convolutions called twice") {
  laws::check_calls<network>();
  laws::check_calls<shared<conv2d{3, 3, sc::tanh, {.padding = same}}>>();
  laws::check_calls<shared<depthwise_conv2d{3, sc::tanh, {.padding = same}}>>();
  laws::check_calls<shared<separable_conv2d{3, 3, sc::swish, {.padding = same}}>>();
  laws::check_calls<shared<conv2d_transpose{3, 3, sc::tanh, {.padding = same}}>>();
}

TEST_CASE("convolutions in nested models") { laws::check_calls<tower>(); }
