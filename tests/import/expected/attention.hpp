// The model 'functional' of attention_3.keras: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace attention_model_parts {

constexpr auto encoder_block(auto x) {
  auto y = layer_normalization{{.epsilon = 1e-6F}}(x);
  y = multi_head_attention{2, 4}(y, y);
  x = add{}(x, y);
  y = layer_normalization{{.epsilon = 1e-6F}}(x);
  y = dense{16, sc::gelu}(y);
  y = dense{8}(y);
  return add{}(x, y);
}

}  // namespace attention_model_parts

struct attention_model : sc::functional<attention_model> {
  static constexpr std::string_view name = "functional";

  static constexpr auto build(auto& model) {
    using namespace attention_model_parts;  // NOLINT
    auto x = model.input(6, 8);
    for (int i = 0; i < 2; ++i) x = encoder_block(x);
    x = global_average_pooling1d{}(x);
    return dense{3, sc::softmax}(x);
  }
};

}  // namespace models
