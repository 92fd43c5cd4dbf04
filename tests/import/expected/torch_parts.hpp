// The model 'torch_parts' of torch_parts.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct torch_parts : sc::functional<torch_parts> {
  static constexpr std::string_view name = "torch_parts";

  static constexpr auto build(auto& model) {
    auto x = model.input(6, 6, 2);
    x = conv2d{6, 3, {.padding = sc::padding::same}}.named("conv")(x);
    auto y = permute{3, 1, 2}(x);
    y = cropping2d{{{0, 3}, {0, 0}}}(y);
    y = permute{2, 3, 1}(y);
    x = permute{3, 1, 2}(x);
    x = cropping2d{{{3, 0}, {0, 0}}}(x);
    x = permute{2, 3, 1}(x);
    x = activation{sc::sigmoid}(x);
    y = multiply{}(y, x);
    x = cropping2d{{{0, 4}, {0, 0}}}(y);
    y = cropping2d{{{2, 0}, {0, 0}}}(y);
    y = global_average_pooling2d{}(y);
    x = global_average_pooling2d{}(x);
    y = concatenate{}(y, x);
    x = reshape{6, 1}(y);
    x = cropping1d{{1, 2}}(x);
    x = reshape{3}(x);
    x = activation{sc::tanh}(x);
    auto z = dense{2}.named("fc_0")(y);
    y = dense{2}.named("fc_1")(y);
    z = multiply{}(z, y);
    return concatenate{}(x, z);
  }
};

}  // namespace models
