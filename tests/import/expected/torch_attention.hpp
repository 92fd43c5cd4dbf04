// The model 'torch_attention' of torch_attention.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct torch_attention : sc::functional<torch_attention> {
  static constexpr std::string_view name = "torch_attention";

  static constexpr auto build(auto& model) {
    auto x = model.input(6, 8);
    auto y = layer_normalization{{.epsilon = 1e-5F}}.named("norm")(x);
    y = multi_head_attention{2, 4}.named("first")(y, y);
    x = add{}(x, y);
    y = multi_head_attention{4, 2, {.use_causal_mask = true}}.named("second")(x, x);
    x = add{}(x, y);
    y = multi_head_attention{2, 4}.named("own")(x, x);
    x = add{}(x, y);
    x = global_average_pooling1d{}(x);
    return dense{3}.named("head")(x);
  }
};

}  // namespace models
