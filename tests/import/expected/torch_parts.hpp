// The model 'torch_parts' of torch_parts.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace torch_parts_parts {

struct part_sigmoid_product : sc::layer<part_sigmoid_product> {
  static constexpr std::string_view class_name = "part_sigmoid_product";

  constexpr auto call(auto& ops, auto x) const {
    auto const a = ops.slice(x, 3, 0, 3);
    auto const b = ops.slice(x, 3, 3, 3);
    auto const c = sigmoid(b);
    return a * c;
  }
};

}  // namespace torch_parts_parts

struct torch_parts : sc::functional<torch_parts> {
  static constexpr std::string_view name = "torch_parts";

  static constexpr auto build(auto& model) {
    using namespace torch_parts_parts;  // NOLINT
    auto x = model.input(6, 6, 2);
    x = conv2d{6, 3, {.padding = sc::padding::same}}.named("conv")(x);
    x = part_sigmoid_product{}(x);
    auto y = cropping2d{{{0, 4}, {0, 0}}}(x);
    x = cropping2d{{{2, 0}, {0, 0}}}(x);
    x = global_average_pooling2d{}(x);
    y = global_average_pooling2d{}(y);
    x = concatenate{}(x, y);
    y = reshape{6, 1}(x);
    y = cropping1d{{1, 2}}(y);
    y = reshape{3}(y);
    y = activation{sc::tanh}(y);
    auto z = dense{2}.named("fc_0")(x);
    x = dense{2}.named("fc_1")(x);
    z = multiply{}(z, x);
    return concatenate{}(y, z);
  }
};

}  // namespace models
