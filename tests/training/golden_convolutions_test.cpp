// SPDX-License-Identifier: BSD-3-Clause
// Convolution layers against real Keras.
#include "golden_layers.hpp"

namespace {

using golden::check_layer, golden::one;
constexpr auto same = sc::padding::same, causal = sc::padding::causal;

golden::file const& convolutions_file() {
  static auto const file = golden::read("convolutions.txt");
  return file;
}

template <int Batch, input Input, auto Layer>
void check(char const* name) {
  check_layer<one<Batch, Input, Layer>, Batch>(convolutions_file(), name);
}

template <auto First, auto Second, int Batch>
struct residual : sc::functional<residual<First, Second, Batch>> {
  static constexpr auto build(auto& model) {
    auto x = golden::probe{Batch}(model.input(4, 3, 3));
    auto first = First;
    auto second = Second;
    return add{}(x, second(first(x)));
  }
};

struct shared_chain : sc::functional<shared_chain> {
  static constexpr auto build(auto& model) {
    auto x = golden::probe{2}(model.input(4, 5, 3));
    conv2d shared{3, 3, sc::tanh, {.padding = same}};
    return shared(shared(x));
  }
};

}  // namespace

TEST_CASE("conv2d") {
  check<2, input{6, 7, 3}, conv2d{5, 3}>("conv2d");
  check<3, input{5, 4, 4}, conv2d{6, 3, sc::relu, {.padding = same}}>("conv2d_same_relu");
  check<2, input{7, 6, 3}, conv2d{4, {3, 2}, sc::tanh, {.strides = {2, 3}, .padding = same}}>(
      "conv2d_strides_same_tanh");
  check<2, input{7, 8, 2}, conv2d{3, {3, 5}, {.strides = 2}}>("conv2d_strides_valid");
  check<2, input{6, 5, 3}, conv2d{4, {2, 3}, sc::gelu, {.dilation_rate = {3, 1}}}>("conv2d_dilation_gelu");
  check<1, input{6, 6, 2}, conv2d{3, 3, {.padding = same, .dilation_rate = 2, .use_bias = false}}>(
      "conv2d_dilation_same_no_bias");
  check<3, input{4, 3, 6}, conv2d{5, 1, sc::softmax}>("conv2d_pointwise_softmax");
  check<2, input{5, 5, 4}, conv2d{7, 1, {.strides = 2, .use_bias = false}}>("conv2d_pointwise_strides_no_bias");
  check<2, input{4, 4, 2}, conv2d{3, 3, sc::softmax, {.padding = same}}>("conv2d_softmax");
  check<1, input{3, 3, 5}, conv2d{35, 2}>("conv2d_wide");
  check<5, input{3, 4, 2}, conv2d{3, {3, 4}, sc::sigmoid}>("conv2d_whole");
  check<2, input{3, 2, 2}, conv2d{2, {5, 4}, {.padding = same}}>("conv2d_large_kernel_same");
  check<4, input{4, 4, 1}, conv2d{1, 2, sc::elu}>("conv2d_one_filter");
  check<2, input{3, 4, 5, 2}, conv2d{3, 2, sc::relu}>("conv2d_more_axes");
}

TEST_CASE("conv2d with groups") {
  check<2, input{5, 4, 4}, conv2d{6, 3, sc::relu, {.padding = same, .groups = 2}}>("conv2d_groups_same_relu");
  check<1, input{6, 5, 6}, conv2d{3, {2, 3}, {.strides = {2, 1}, .groups = 3, .use_bias = false}}>(
      "conv2d_groups_strides");
  check<1, input{2, 3, 6}, conv2d{34, 2, sc::swish, {.groups = 2}}>("conv2d_groups_wide");
}

TEST_CASE("conv1d") {
  check<3, input{8, 4}, conv1d{5, 3}>("conv1d");
  check<2, input{9, 3}, conv1d{4, 4, sc::relu, {.strides = 2, .padding = same}}>("conv1d_strides_same_relu");
  check<2, input{7, 2}, conv1d{3, 3, {.padding = causal}}>("conv1d_causal");
  check<2, input{7, 3}, conv1d{2, 3, sc::tanh, {.strides = 2, .padding = causal}}>("conv1d_causal_strides_tanh");
  check<2, input{8, 2}, conv1d{3, 2, sc::gelu, {.padding = causal, .dilation_rate = 3}}>("conv1d_causal_dilation_gelu");
  check<1, input{8, 3}, conv1d{4, 3, {.dilation_rate = 2, .use_bias = false}}>("conv1d_dilation_no_bias");
  check<2, input{6, 4}, conv1d{6, 3, sc::softmax, {.groups = 2}}>("conv1d_groups_softmax");
  check<1, input{4, 17}, conv1d{18, 2, {.padding = same}}>("conv1d_wide");
  check<2, input{3, 6, 2}, conv1d{4, 3, {.strides = 2}}>("conv1d_more_axes");
}

TEST_CASE("depthwise_conv2d") {
  check<2, input{5, 6, 3}, depthwise_conv2d{3}>("depthwise");
  check<3, input{5, 4, 4}, depthwise_conv2d{{3, 2}, sc::relu, {.padding = same}}>("depthwise_same_relu");
  check<2, input{7, 6, 2}, depthwise_conv2d{3, {.strides = 2, .padding = same, .depth_multiplier = 3}}>(
      "depthwise_multiplier_strides");
  check<2, input{6, 7, 3}, depthwise_conv2d{{2, 3}, sc::gelu, {.strides = 2}}>("depthwise_strides_gelu");
  check<1, input{7, 6, 2}, depthwise_conv2d{3, {.dilation_rate = 2, .use_bias = false}}>("depthwise_dilation_no_bias");
  check<2, input{4, 4, 3}, depthwise_conv2d{2, sc::softmax, {.depth_multiplier = 2}}>("depthwise_multiplier_softmax");
  check<1, input{3, 3, 19}, depthwise_conv2d{2, sc::tanh, {.padding = same}}>("depthwise_wide");
}

TEST_CASE("separable_conv1d and separable_conv2d") {
  check<2, input{5, 6, 3}, separable_conv2d{4, 3}>("separable");
  check<2, input{7, 6, 2}, separable_conv2d{5, {3, 2}, sc::relu, {.strides = 2, .depth_multiplier = 2}}>(
      "separable_multiplier_relu");
  check<3, input{4, 5, 3}, separable_conv2d{2, 3, sc::gelu, {.padding = same}}>("separable_same_gelu");
  check<1, input{6, 7, 2}, separable_conv2d{3, 3, {.dilation_rate = 2, .use_bias = false}}>(
      "separable_dilation_no_bias");
  check<1, input{3, 3, 17}, separable_conv2d{18, 2, sc::softmax}>("separable_softmax_wide");
  check<2, input{7, 3}, separable_conv1d{4, 3, sc::tanh, {.strides = 2}}>("separable_conv1d");
  check<2, input{6, 2}, separable_conv1d{3, 3, {.padding = causal, .depth_multiplier = 2}}>("separable_conv1d_causal");
}

TEST_CASE("conv2d_transpose") {
  check<2, input{3, 4, 3}, conv2d_transpose{4, 3}>("transpose");
  check<2, input{4, 3, 2}, conv2d_transpose{3, 3, sc::relu, {.padding = same}}>("transpose_same_relu");
  check<2, input{3, 4, 3}, conv2d_transpose{2, {3, 4}, {.strides = 2}}>("transpose_strides");
  check<3, input{3, 2, 4}, conv2d_transpose{3, 3, sc::tanh, {.strides = {2, 3}, .padding = same}}>(
      "transpose_strides_same_tanh");
  check<2, input{3, 3, 2}, conv2d_transpose{3, 3, {.strides = 2, .output_padding = 1}}>("transpose_output_padding");
  check<1, input{3, 4, 3}, conv2d_transpose{2, 3, {.strides = {3, 2}, .padding = same, .output_padding = {2, 0}}}>(
      "transpose_output_padding_same");
  check<2, input{3, 2, 3}, conv2d_transpose{4, 2, {.strides = 3, .use_bias = false}}>("transpose_small_kernel_no_bias");
  check<2, input{3, 4, 2}, conv2d_transpose{3, {2, 3}, sc::gelu, {.dilation_rate = 2}}>("transpose_dilation_gelu");
  check<1, input{5, 4, 2}, conv2d_transpose{3, 3, {.padding = same, .dilation_rate = 2}}>("transpose_dilation_same");
  check<2, input{3, 3, 3}, conv2d_transpose{4, 2, sc::softmax, {.strides = 2, .padding = same}}>("transpose_softmax");
  check<1, input{2, 2, 5}, conv2d_transpose{19, 2, {.strides = 2}}>("transpose_wide");
}

TEST_CASE("a convolution called twice, and one beside a shortcut") {
  check_layer<shared_chain, 2>(convolutions_file(), "shared_chain");
  check_layer<residual<conv2d{3, 3, sc::relu, {.padding = same, .name = "first"}},
                       conv2d{3, 1, {.use_bias = false, .name = "second"}}, 3>,
              3>(convolutions_file(), "residual");
}
