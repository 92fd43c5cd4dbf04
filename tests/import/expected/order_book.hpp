// The model 'order_book' of order_book.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct order_book : sc::functional<order_book> {
  static constexpr std::string_view name = "order_book";

  static constexpr auto build(auto& model) {
    auto x = model.input(12, 8, 1);
    x = conv2d{4, {1, 2}, {.strides = {1, 2}}}(x);
    x = leaky_re_lu{0.01F}(x);
    x = conv2d{4, {4, 1}, sc::tanh, {.padding = sc::padding::same}}(x);
    x = conv2d{4, {1, 4}}(x);
    x = prelu{}(x);
    auto y = conv2d{6, 1, {.padding = sc::padding::same}}.named("conv2d_4")(x);
    y = conv2d{6, {3, 1}, {.padding = sc::padding::same}}(y);
    auto z = conv2d{6, 1, {.padding = sc::padding::same}}.named("conv2d_6")(x);
    z = conv2d{6, {5, 1}, {.padding = sc::padding::same}}.named("conv2d_5")(z);
    x = max_pooling2d{{3, 1}, {.strides = 1, .padding = sc::padding::same}}(x);
    x = conv2d{6, 1, {.padding = sc::padding::same}}.named("conv2d_7")(x);
    y = concatenate{}(y, z, x);
    y = reshape{12, 18}(y);
    y = lstm{8}(y);
    return dense{3, sc::softmax}(y);
  }
};

}  // namespace models
