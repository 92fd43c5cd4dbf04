// SPDX-License-Identifier: BSD-3-Clause
// The residual networks of tf.keras.applications, version 1: resnet50.hpp, resnet101.hpp and resnet152.hpp instantiate
// them.
#pragma once

#include <stagecraft/applications/application_options.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/models/functional.hpp>
#include <string_view>

namespace stagecraft::applications {

/// "conv4_block2_1_conv": the names of tf.keras.applications.
constexpr fixed_name resnet_name(int group, int block, std::string_view rest) {
  return fixed_name("conv").append(group).append("_block").append(block).append(rest);
}

/// A residual block: filters for each pixel, for each 3x3 window, and 4 * `filters` for each pixel again, added to the
/// input, or with `project` to a convolution of it. `group` and `block` are for names.
constexpr auto bottleneck(auto x, int group, int block, int filters, int strides, bool project) {
  using namespace layers;  // NOLINT: as a program writes it
  auto const name = [&](std::string_view rest) { return resnet_name(group, block, rest); };
  auto shortcut = x;
  if (project) {
    shortcut = conv2d{4 * filters, 1, {.strides = strides}}.named(name("_0_conv"))(x);
    shortcut = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_0_bn"))(shortcut);
  }
  x = conv2d{filters, 1, {.strides = strides}}.named(name("_1_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_1_bn"))(x);
  x = layers::activation{relu}.named(name("_1_relu"))(x);
  x = conv2d{filters, 3, {.padding = padding::same}}.named(name("_2_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_2_bn"))(x);
  x = layers::activation{relu}.named(name("_2_relu"))(x);
  x = conv2d{4 * filters, 1}.named(name("_3_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_3_bn"))(x);
  x = layers::add{}.named(name("_add"))(shortcut, x);
  return layers::activation{relu}.named(name("_out"))(x);
}

/// A whole residual network, whose four groups have these numbers of blocks.
template <application_options Options>
constexpr auto resnet(auto& model, int blocks2, int blocks3, int blocks4, int blocks5) {
  using namespace layers;  // NOLINT: as a program writes it
  auto x = model.input(Options.height, Options.width, Options.channels);
  x = zero_padding2d{3}.named("conv1_pad")(x);
  x = conv2d{64, 7, {.strides = 2}}.named("conv1_conv")(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named("conv1_bn")(x);
  x = layers::activation{relu}.named("conv1_relu")(x);
  x = zero_padding2d{1}.named("pool1_pad")(x);
  x = max_pooling2d{3, {.strides = 2}}.named("pool1_pool")(x);
  int const blocks[]{blocks2, blocks3, blocks4, blocks5};
  for (int group = 0; group < 4; ++group)
    for (int block = 0; block < blocks[group]; ++block)
      x = bottleneck(x, group + 2, block + 1, 64 << group, group > 0 && block == 0 ? 2 : 1, block == 0);
  if constexpr (Options.include_top) {
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{Options.classes, softmax}.named("predictions")(x);
  } else {
    return x;
  }
}

}  // namespace stagecraft::applications
