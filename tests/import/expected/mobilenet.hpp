// The model 'mobilenet' of mobilenet.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace mobilenet_parts {

constexpr auto conv_norm_activation_block(auto x, int filters, int strides, int filters_2) {
  x = conv2d{filters, 1, {.padding = sc::padding::same, .use_bias = false}}(x);
  x = batch_normalization{{.momentum = 0.999}}(x);
  x = re_lu{{.max_value = 6.0F}}(x);
  x = depthwise_conv2d{3, {.strides = strides, .padding = sc::padding::same, .use_bias = false}}(x);
  x = batch_normalization{{.momentum = 0.999}}(x);
  x = re_lu{{.max_value = 6.0F}}(x);
  x = conv2d{filters_2, 1, {.padding = sc::padding::same, .use_bias = false}}(x);
  return batch_normalization{{.momentum = 0.999}}(x);
}

}  // namespace mobilenet_parts

struct mobilenet : sc::functional<mobilenet> {
  static constexpr std::string_view name = "mobilenet";

  static constexpr auto build(auto& model) {
    using namespace mobilenet_parts;  // NOLINT
    auto x = model.input(16, 16, 3);
    x = conv2d{8, 3, {.strides = 2, .padding = sc::padding::same, .use_bias = false}}(x);
    x = batch_normalization{{.momentum = 0.999}}(x);
    x = re_lu{{.max_value = 6.0F}}(x);
    auto y = conv_norm_activation_block(x, 16, 1, 8);
    x = add{}(x, y);
    y = conv_norm_activation_block(x, 16, 1, 8);
    x = add{}(x, y);
    x = conv_norm_activation_block(x, 16, 2, 12);
    y = conv_norm_activation_block(x, 24, 1, 12);
    x = add{}(x, y);
    y = conv_norm_activation_block(x, 24, 1, 12);
    x = add{}(x, y);
    x = global_average_pooling2d{}(x);
    return dense{4}(x);
  }
};

}  // namespace models
