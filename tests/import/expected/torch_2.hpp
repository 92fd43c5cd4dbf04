// The model 'torch_2' of torch_2.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct torch_2 : sc::functional<torch_2> {
  static constexpr std::string_view name = "torch_2";

  static constexpr auto build(auto& model) {
    auto x = model.input(6, 8);
    auto y = multi_head_attention{2, 4}.named("encoder_layers_0_self_attn")(x, x);
    x = add{}(x, y);
    x = layer_normalization{{.epsilon = 1e-5F}}.named("encoder_layers_0_norm1")(x);
    y = dense{12, sc::relu}.named("encoder_layers_0_linear1")(x);
    y = dense{8}.named("encoder_layers_0_linear2")(y);
    x = add{}(x, y);
    x = layer_normalization{{.epsilon = 1e-5F}}.named("encoder_layers_0_norm2")(x);
    y = multi_head_attention{2, 4, {.use_causal_mask = true}}.named("causal")(x, x);
    x = add{}(x, y);
    y = multi_head_attention{4, 2}.named("weighted")(x, x);
    x = add{}(x, y);
    x = global_average_pooling1d{}(x);
    return dense{3}.named("head")(x);
  }
};

}  // namespace models
