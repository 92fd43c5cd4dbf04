// The model 'by_hand' of by_hand.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct by_hand : sc::functional<by_hand> {
  static constexpr std::string_view name = "by_hand";

  static constexpr auto build(auto& model) {
    auto image = model.input({8, 8, 3}, "image");
    auto size = model.input({2}, "size");
    auto x = batch_normalization{{.epsilon = 0.0F}}(image);
    auto y = conv2d{4, 3, {.strides = 2, .padding = sc::padding::same}}(x);
    y = elu_layer{0.5F}(y);
    x = zero_padding2d{}(x);
    x = conv2d{2, 3, sc::hard_sigmoid, {.strides = 2, .use_bias = false}}(x);
    y = concatenate{}(y, x);
    x = global_average_pooling2d{}(y);
    x = concatenate{}(x, size);
    x = rescaling{0.5F}(x);
    x = dense{6, sc::softplus}(x);
    x = rescaling{1.0F, {.offset = -1.0F}}(x);
    x = dense{5, sc::softmax}(x);
    return sc::outputs(x, y);
  }
};

}  // namespace models
