// The model 'unet' of unet.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct unet : sc::functional<unet> {
  static constexpr std::string_view name = "unet";

  static constexpr auto build(auto& model) {
    auto x = model.input(16, 16, 3);
    x = conv2d{4, 3, sc::relu, {.padding = sc::padding::same}}(x);
    auto y = max_pooling2d{2}(x);
    y = conv2d{8, 3, sc::relu, {.padding = sc::padding::same}}(y);
    auto z = max_pooling2d{2}(y);
    z = conv2d{12, 3, sc::elu, {.padding = sc::padding::same, .dilation_rate = 2}}(z);
    z = dropout{0.3F}(z);
    z = up_sampling2d{2, {.interpolation = sc::interpolation::bilinear}}(z);
    z = concatenate{}(z, y);
    z = conv2d{8, 3, sc::relu, {.padding = sc::padding::same}}(z);
    z = conv2d_transpose{4, 3, {.strides = 2, .padding = sc::padding::same}}(z);
    z = concatenate{}(z, x);
    z = zero_padding2d{}(z);
    z = cropping2d{1}(z);
    return conv2d{2, 1, sc::sigmoid}.named("mask")(z);
  }
};

}  // namespace models
