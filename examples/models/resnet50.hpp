// SPDX-License-Identifier: BSD-3-Clause
// ResNet-50 as tf.keras.applications builds it: 177 layers, the input included.
#pragma once

#include <stagecraft/pipeline.hpp>

namespace resnet {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

/// "conv4_block2_1_conv": the names of tf.keras.applications.
constexpr sc::fixed_name name_of(int group, int block, std::string_view rest) {
  return sc::fixed_name("conv").append(group).append("_block").append(block).append(rest);
}

constexpr auto bottleneck(auto x, int group, int block, int filters, int stride, bool project) {
  auto const name = [&](std::string_view rest) { return name_of(group, block, rest); };
  auto shortcut = x;
  if (project) {
    shortcut = conv2d{4 * filters, 1, {.strides = stride}}.named(name("_0_conv"))(x);
    shortcut = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_0_bn"))(shortcut);
  }
  x = conv2d{filters, 1, {.strides = stride}}.named(name("_1_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_1_bn"))(x);
  x = activation{sc::relu}.named(name("_1_relu"))(x);
  x = conv2d{filters, 3, {.padding = sc::padding::same}}.named(name("_2_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_2_bn"))(x);
  x = activation{sc::relu}.named(name("_2_relu"))(x);
  x = conv2d{4 * filters, 1}.named(name("_3_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_3_bn"))(x);
  x = add{}.named(name("_add"))(shortcut, x);
  return activation{sc::relu}.named(name("_out"))(x);
}

struct resnet50 : sc::functional<resnet50> {
  static constexpr std::string_view name = "resnet50";

  static constexpr auto build(auto& model) {
    auto x = model.input(224, 224, 3);
    x = zero_padding2d{3}.named("conv1_pad")(x);
    x = conv2d{64, 7, {.strides = 2}}.named("conv1_conv")(x);
    x = batch_normalization{{.epsilon = 1.001e-5F}}.named("conv1_bn")(x);
    x = activation{sc::relu}.named("conv1_relu")(x);
    x = zero_padding2d{1}.named("pool1_pad")(x);
    x = max_pooling2d{3, {.strides = 2}}.named("pool1_pool")(x);
    constexpr int blocks[]{3, 4, 6, 3};
    for (int group = 0; group < 4; ++group)
      for (int block = 0; block < blocks[group]; ++block)
        x = bottleneck(x, group + 2, block + 1, 64 << group, group > 0 && block == 0 ? 2 : 1, block == 0);
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{1000, sc::softmax}.named("predictions")(x);
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
