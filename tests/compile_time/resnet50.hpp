// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50 as tf.keras.applications builds it (177 layers, the input included), with layers of this file's own for
// what the library may not have: to see what a real graph costs to trace, check and assign.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace resnet {

namespace sc = stagecraft;

struct conv2d : sc::layer<conv2d> {
  static constexpr std::string_view class_name = "Conv2D";
  int filters, kernel_size, strides;
  bool same_padding;

  constexpr conv2d(int filters_, int kernel_size_, int strides_ = 1, bool same_padding_ = false)
      : filters(filters_), kernel_size(kernel_size_), strides(strides_), same_padding(same_padding_) {}

  [[nodiscard]] constexpr int extent(int in) const {
    return same_padding ? (in + strides - 1) / strides : (in - kernel_size) / strides + 1;
  }
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    if (!in.expect_count(1, 1)) return in[0];
    if (in[0].rank() != 3) return in.error(1002, "expects an input of 3 axes, but got ", in[0]);
    return {extent(in[0][0]), extent(in[0][1]), filters};
  }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "kernel",
                 .shape = {kernel_size, kernel_size, in[0][2], filters},
                 .initializer = sc::initializers::glorot_uniform{}});
    weights.add({.name = "bias", .shape = {filters}, .initializer = sc::initializers::zeros{}});
  }
  [[nodiscard]] constexpr long long flops(sc::layer_inputs const& in) const {
    return 2LL * kernel_size * kernel_size * in[0][2] * output_shape(in).size();
  }
};

struct batch_normalization : sc::layer<batch_normalization> {
  static constexpr std::string_view class_name = "BatchNormalization";

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    int const channels = in[0].back();
    weights.add({.name = "gamma", .shape = {channels}, .initializer = sc::initializers::ones{}});
    weights.add({.name = "beta", .shape = {channels}, .initializer = sc::initializers::zeros{}});
    weights.add(
        {.name = "moving_mean", .shape = {channels}, .initializer = sc::initializers::zeros{}, .trainable = false});
    weights.add(
        {.name = "moving_variance", .shape = {channels}, .initializer = sc::initializers::ones{}, .trainable = false});
  }
};

struct zero_padding2d : sc::layer<zero_padding2d> {
  static constexpr std::string_view class_name = "ZeroPadding2D";
  int padding;

  constexpr explicit zero_padding2d(int padding_) : padding(padding_) {}
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    return {in[0][0] + 2 * padding, in[0][1] + 2 * padding, in[0][2]};
  }
};

struct max_pooling2d : sc::layer<max_pooling2d> {
  static constexpr std::string_view class_name = "MaxPooling2D";
  int pool_size, strides;

  constexpr max_pooling2d(int pool_size_, int strides_) : pool_size(pool_size_), strides(strides_) {}
  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    return {(in[0][0] - pool_size) / strides + 1, (in[0][1] - pool_size) / strides + 1, in[0][2]};
  }
};

struct global_average_pooling2d : sc::layer<global_average_pooling2d> {
  static constexpr std::string_view class_name = "GlobalAveragePooling2D";

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return {in[0][2]}; }
};

/// "conv4_block2_1_conv": the names of tf.keras.applications.
constexpr sc::fixed_name name_of(int group, int block, std::string_view rest) {
  return sc::fixed_name("conv").append(group).append("_block").append(block).append(rest);
}

constexpr auto bottleneck(auto x, int group, int block, int filters, int stride, bool project) {
  auto const name = [&](std::string_view rest) { return name_of(group, block, rest); };
  auto shortcut = x;
  if (project) {
    shortcut = conv2d{4 * filters, 1, stride}.named(name("_0_conv"))(x);
    shortcut = batch_normalization{}.named(name("_0_bn"))(shortcut);
  }
  x = conv2d{filters, 1, stride}.named(name("_1_conv"))(x);
  x = batch_normalization{}.named(name("_1_bn"))(x);
  x = sc::layers::activation{sc::relu}.named(name("_1_relu"))(x);
  x = conv2d{filters, 3, 1, true}.named(name("_2_conv"))(x);
  x = batch_normalization{}.named(name("_2_bn"))(x);
  x = sc::layers::activation{sc::relu}.named(name("_2_relu"))(x);
  x = conv2d{4 * filters, 1}.named(name("_3_conv"))(x);
  x = batch_normalization{}.named(name("_3_bn"))(x);
  x = sc::layers::add{}.named(name("_add"))(shortcut, x);
  return sc::layers::activation{sc::relu}.named(name("_out"))(x);
}

struct resnet50 : sc::functional<resnet50> {
  static constexpr std::string_view name = "resnet50";

  static constexpr auto build(auto& model) {
    auto x = model.input(224, 224, 3);
    x = zero_padding2d{3}.named("conv1_pad")(x);
    x = conv2d{64, 7, 2}.named("conv1_conv")(x);
    x = batch_normalization{}.named("conv1_bn")(x);
    x = sc::layers::activation{sc::relu}.named("conv1_relu")(x);
    x = zero_padding2d{1}.named("pool1_pad")(x);
    x = max_pooling2d{3, 2}.named("pool1_pool")(x);
    constexpr int blocks[]{3, 4, 6, 3};
    for (int group = 0; group < 4; ++group)
      for (int block = 0; block < blocks[group]; ++block)
        x = bottleneck(x, group + 2, block + 1, 64 << group, group > 0 && block == 0 ? 2 : 1, block == 0);
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return sc::layers::dense{1000, sc::softmax}.named("predictions")(x);
  }
};

/// The assignment of the guide: all up to one residual block in stage 0, the rest in stage 1.
using two_stages = sc::pipelined<resnet50, [](auto& assignment) {
  int stage = 0;
  for (auto& call : assignment) {
    call.pipeline_stage = stage;
    if (call.layer_name() == "conv4_block2_add") stage = 1;
  }
}>;

}  // namespace resnet
