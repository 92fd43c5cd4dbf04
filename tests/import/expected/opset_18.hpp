// The model 'of_opset_18' of opset_18.onnx: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct opset_18 : sc::functional<opset_18> {
  static constexpr std::string_view name = "of_opset_18";

  static constexpr auto build(auto& model) {
    auto x = model.input({4, 5, 3}, "x");
    auto y = cropping2d{{{0, 2}, {0, 0}}}(x);
    x = cropping2d{{{2, 0}, {0, 0}}}(x);
    x = cropping2d{{{0, 0}, {0, 1}}}(x);
    x = zero_padding2d{{{0, 0}, {1, 0}}}(x);
    y = add{}(y, x);
    y = permute{2, 3, 1}(y);
    return global_average_pooling2d{}(y);
  }
};

}  // namespace models
