// The model 'two_in_two_out' of branches.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct branches : sc::functional<branches> {
  static constexpr std::string_view name = "two_in_two_out";

  static constexpr auto build(auto& model) {
    auto image = model.input({8, 8, 3}, "image");
    auto size = model.input({2}, "size");
    auto x = conv2d{4, 1, sc::relu}.named("narrow")(image);
    auto y = conv2d{4, 3, sc::swish, {.padding = sc::padding::same}}.named("middle")(image);
    auto z = max_pooling2d{3, {.strides = 1, .padding = sc::padding::same}}.named("pool")(image);
    x = concatenate{}.named("joined")(x, y, z);
    x = global_average_pooling2d{}(x);
    x = concatenate{}(x, size);
    y = dense{5, sc::softmax}.named("digit")(x);
    x = dense{4, sc::elu}(x);
    x = dense{1}.named("weight")(x);
    return sc::outputs(y, x);
  }
};

}  // namespace models
