// The model 'torch_mixer17' of torch_mixer17.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace torch_mixer17_parts {

constexpr auto residual(auto x, int number) {
  auto y = layer_normalization{{.epsilon = 1e-5F}}.named(sc::fixed_name("norms_").append(number))(x);
  y = permute{2, 1}(y);
  y = dense{6}.named(sc::fixed_name("across_").append(number))(y);
  y = permute{2, 1}(y);
  y = dense{8, sc::gelu}.named(sc::fixed_name("along_").append(number))(y);
  return add{}(x, y);
}

}  // namespace torch_mixer17_parts

struct torch_mixer17 : sc::functional<torch_mixer17> {
  static constexpr std::string_view name = "torch_mixer17";

  static constexpr auto build(auto& model) {
    using namespace torch_mixer17_parts;  // NOLINT
    auto x = model.input(6, 8);
    for (int number = 0; number < 2; ++number) x = residual(x, number);
    x = global_average_pooling1d{}(x);
    return dense{3}.named("head")(x);
  }
};

}  // namespace models
