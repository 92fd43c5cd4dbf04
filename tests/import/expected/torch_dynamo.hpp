// The model 'torch_dynamo' of torch_dynamo.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct torch_dynamo : sc::functional<torch_dynamo> {
  static constexpr std::string_view name = "torch_dynamo";

  static constexpr auto build(auto& model) {
    auto x = model.input({5, 6}, "x");
    x = lstm{8, {.return_sequences = true}}.named("node_lstm__2")(x);
    auto y = multi_head_attention{2, 4}(x, x);
    x = add{}(x, y);
    x = activation{sc::gelu}(x);
    x = global_average_pooling1d{}(x);
    return dense{3}.named("head")(x);
  }
};

}  // namespace models
