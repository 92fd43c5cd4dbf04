// The model 'resnet10' of resnet.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace resnet_parts {

constexpr auto conv_norm_activation_block(auto x, int filters, int strides, int conv, int block) {
  auto const name = [&](std::string_view rest) {
    return sc::fixed_name("conv").append(conv).append("_block").append(block).append(rest);
  };
  x = conv2d{filters, 1, {.strides = strides}}.named(name("_1_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_1_bn"))(x);
  x = activation{sc::relu}.named(name("_1_relu"))(x);
  x = conv2d{filters, 3, {.padding = sc::padding::same}}.named(name("_2_conv"))(x);
  x = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_2_bn"))(x);
  x = activation{sc::relu}.named(name("_2_relu"))(x);
  x = conv2d{2 * filters, 1}.named(name("_3_conv"))(x);
  return batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_3_bn"))(x);
}

constexpr auto residual(auto x, int filters, int conv, int block) {
  auto const name = [&](std::string_view rest) {
    return sc::fixed_name("conv").append(conv).append("_block").append(block).append(rest);
  };
  auto y = conv_norm_activation_block(x, filters, 1, conv, block);
  x = add{}.named(name("_add"))(x, y);
  return activation{sc::relu}.named(name("_out"))(x);
}

constexpr auto projected_residual(auto x, int filters, int strides, int conv) {
  auto const name = [&](std::string_view rest) { return sc::fixed_name("conv").append(conv).append(rest); };
  auto y = conv2d{filters, 1, {.strides = strides}}.named(name("_block1_0_conv"))(x);
  y = batch_normalization{{.epsilon = 1.001e-5F}}.named(name("_block1_0_bn"))(y);
  x = conv_norm_activation_block(x, filters / 2, strides, conv, 1);
  y = add{}.named(name("_block1_add"))(y, x);
  y = activation{sc::relu}.named(name("_block1_out"))(y);
  y = residual(y, filters / 2, conv, 2);
  return residual(y, filters / 2, conv, 3);
}

}  // namespace resnet_parts

struct resnet : sc::functional<resnet> {
  static constexpr std::string_view name = "resnet10";

  static constexpr auto build(auto& model) {
    using namespace resnet_parts;  // NOLINT
    auto x = model.input(16, 16, 3);
    x = zero_padding2d{}.named("conv1_pad")(x);
    x = conv2d{4, 3, {.strides = 2}}.named("conv1_conv")(x);
    x = batch_normalization{{.epsilon = 1.001e-5F}}.named("conv1_bn")(x);
    x = activation{sc::relu}.named("conv1_relu")(x);
    x = projected_residual(x, 8, 1, 2);
    x = projected_residual(x, 12, 2, 3);
    x = global_average_pooling2d{}.named("avg_pool")(x);
    return dense{5, sc::softmax}.named("predictions")(x);
  }
};

}  // namespace models
