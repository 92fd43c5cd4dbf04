// The model 'torch_resnet' of torch_resnet.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace torch_resnet_parts {

constexpr auto residual(auto x, int filters, int layer, int number) {
  auto const name = [&](std::string_view rest) {
    return sc::fixed_name("layer").append(layer).append("_").append(number).append(rest);
  };
  auto y = conv2d{filters, 3, sc::relu, {.padding = sc::padding::same}}.named(name("_conv1"))(x);
  y = conv2d{filters, 3, {.padding = sc::padding::same}}.named(name("_conv2"))(y);
  y = add{}(y, x);
  return activation{sc::relu}(y);
}

}  // namespace torch_resnet_parts

struct torch_resnet : sc::functional<torch_resnet> {
  static constexpr std::string_view name = "torch_resnet";

  static constexpr auto build(auto& model) {
    using namespace torch_resnet_parts;  // NOLINT
    auto x = model.input(16, 16, 3);
    x = zero_padding2d{3}(x);
    x = conv2d{4, 7, sc::relu, {.strides = 2}}.named("stem")(x);
    for (int number = 0; number < 2; ++number) x = residual(x, 4, 1, number);
    auto y = zero_padding2d{}(x);
    y = conv2d{8, 3, sc::relu, {.strides = 2}}.named("layer2_0_conv1")(y);
    y = conv2d{8, 3, {.padding = sc::padding::same}}.named("layer2_0_conv2")(y);
    x = conv2d{8, 1, {.strides = 2}}.named("layer2_0_downsample_0")(x);
    y = add{}(y, x);
    y = activation{sc::relu}(y);
    y = residual(y, 8, 2, 1);
    y = global_average_pooling2d{}(y);
    return dense{5}.named("fc")(y);
  }
};

}  // namespace models
