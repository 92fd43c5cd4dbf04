// SPDX-License-Identifier: BSD-3-Clause
// The model 'bars' of bars.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct bars : sc::functional<bars> {
  static constexpr std::string_view name = "bars";

  static constexpr auto build(auto& model) {
    auto x = model.input(12, 12, 1);
    x = conv2d{8, 3, {.padding = sc::padding::same, .use_bias = false}}.named("block1_conv")(x);
    x = batch_normalization{{.momentum = 0.9}}.named("block1_bn")(x);
    x = activation{sc::relu}.named("block1_relu")(x);
    x = max_pooling2d{2}.named("block1_pool")(x);
    x = conv2d{16, 3, {.padding = sc::padding::same, .use_bias = false}}.named("block2_conv")(x);
    x = batch_normalization{{.momentum = 0.9}}.named("block2_bn")(x);
    x = activation{sc::relu}.named("block2_relu")(x);
    x = max_pooling2d{2}.named("block2_pool")(x);
    x = global_average_pooling2d{}.named("pool")(x);
    return dense{4, sc::softmax}.named("direction")(x);
  }
};

}  // namespace models
